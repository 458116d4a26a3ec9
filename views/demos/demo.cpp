// SPDX-License-Identifier: GPL-3.0-or-later
// See demo.h. The file may be a stranger's: unknown keys and wrong types are named, nothing is guessed.
#include "views/demos/demo.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kMostDemoSteps = 100;

Error bad(const QString& where, const QString& field, const QString& what)
{
    return {ErrorCode::Format, (field + QStringLiteral(": ") + what).toStdString(), where.toStdString(),
            "docs/demos.md describes the format"};
}

/// One object of the file with the words for its errors.
class Reader {
public:
    Reader(QJsonObject object, QString where, QString place)
        : m_object(std::move(object))
        , m_where(std::move(where))
        , m_place(std::move(place))
    {}

    Status onlyKeys(const QStringList& known) const
    {
        for (const QString& key : m_object.keys())
            if (!known.contains(key)) return error(key, QStringLiteral("is no field of a demo"));
        return {};
    }

    Result<DemoText> text(const QString& key, bool required) const
    {
        const QJsonValue value = m_object.value(key);
        if (value.isUndefined() && !required) return DemoText();
        QMap<QString, QString> texts;
        if (value.isString()) texts.insert(QStringLiteral("en"), value.toString());
        const QJsonObject object = value.toObject();
        for (const QString& language : object.keys()) {
            if (!object.value(language).isString()) return error(key, QStringLiteral("must be texts by language"));
            texts.insert(language, object.value(language).toString());
        }
        if (texts.isEmpty()) return error(key, QStringLiteral("must be a text, or texts by language"));
        return DemoText(std::move(texts));
    }

    Result<QString> word(const QString& key) const
    {
        const QJsonValue value = m_object.value(key);
        if (!value.isUndefined() && !value.isString()) return error(key, QStringLiteral("must be a text"));
        return value.toString();
    }

    Result<std::optional<int>> number(const QString& key) const
    {
        const QJsonValue value = m_object.value(key);
        if (value.isUndefined()) return std::optional<int>();
        const int number = value.toInt(-1);
        if (number < 0) return error(key, QStringLiteral("must be a whole number from 0"));
        return std::optional<int>(number);
    }

    const QJsonObject& object() const { return m_object; }
    Error error(const QString& key, const QString& what) const { return bad(m_where, m_place + key, what); }

private:
    QJsonObject m_object;
    QString m_where, m_place;
};

Result<std::optional<std::array<double, 2>>> readRange(const Reader& reader)
{
    using Range = std::optional<std::array<double, 2>>;
    const QString key = QStringLiteral("range");
    const QJsonValue value = reader.object().value(key);
    if (value.isUndefined()) return Range();
    const QJsonArray pair = value.toArray();
    const double from = pair.at(0).toDouble(-1), to = pair.at(1).toDouble(-1);
    if (pair.size() != 2 || !(from >= 0 && from < to && to <= 1))
        return reader.error(key, QStringLiteral("must be two numbers from 0 to 1, the smaller first"));
    return Range({from, to});
}

Result<DemoStep> readStep(const QJsonValue& value, const QString& where, int number)
{
    const QString place = QStringLiteral("step %1, ").arg(number);
    if (!value.isObject()) return bad(where, place.chopped(2), QStringLiteral("must be an object"));
    const Reader reader(value.toObject(), where, place);
    FOURWALLS_TRY(reader.onlyKeys({QStringLiteral("caption"), QStringLiteral("touch"), QStringLiteral("question"),
                                   QStringLiteral("answer"), QStringLiteral("view"), QStringLiteral("trace"),
                                   QStringLiteral("step"), QStringLiteral("rank"), QStringLiteral("range"),
                                   QStringLiteral("plan"), QStringLiteral("actions"), QStringLiteral("own")}));
    DemoStep step;
    FOURWALLS_TRY_ASSIGN(step.caption, reader.text(QStringLiteral("caption"), true));
    FOURWALLS_TRY_ASSIGN(step.touch, reader.text(QStringLiteral("touch"), false));
    FOURWALLS_TRY_ASSIGN(step.question, reader.text(QStringLiteral("question"), false));
    FOURWALLS_TRY_ASSIGN(step.answer, reader.text(QStringLiteral("answer"), false));
    if (step.question.empty() != step.answer.empty())
        return reader.error(QStringLiteral("question"), QStringLiteral("goes with an answer"));
    FOURWALLS_TRY_ASSIGN(step.view, reader.word(QStringLiteral("view")));
    FOURWALLS_TRY_ASSIGN(step.trace, reader.word(QStringLiteral("trace")));
    FOURWALLS_TRY_ASSIGN(step.step, reader.number(QStringLiteral("step")));
    FOURWALLS_TRY_ASSIGN(step.rank, reader.number(QStringLiteral("rank")));
    FOURWALLS_TRY_ASSIGN(step.range, readRange(reader));
    if (value.toObject().contains(QStringLiteral("plan"))) {
        FOURWALLS_TRY_ASSIGN(QString plan, reader.word(QStringLiteral("plan")));
        step.plan = plan;
    }
    for (const QJsonValue& action : value.toObject().value(QStringLiteral("actions")).toArray())
        step.actions.append(action.toString());
    step.own = value.toObject().value(QStringLiteral("own")).toBool();
    return step;
}

/// The traces in the order of the file. QJsonObject sorts its keys, so they are an array of pairs.
Status readTraces(const Reader& reader, Demo& demo)
{
    const QString key = QStringLiteral("traces");
    for (const QJsonValue& value : reader.object().value(key).toArray()) {
        const QString name = value.toObject().value(QStringLiteral("name")).toString();
        const QString file = value.toObject().value(QStringLiteral("file")).toString();
        if (name.isEmpty() || file.isEmpty())
            return reader.error(key, QStringLiteral("every trace needs a \"name\" and a \"file\""));
        const bool isWord = std::all_of(name.begin(), name.end(),
                                        [](QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('_'); });
        if (!isWord || !name.front().isLetter())
            return reader.error(key, QStringLiteral("a name is of letters, digits and _"));
        for (const auto& [known, unused] : demo.traces)
            if (known == name) return reader.error(key, QStringLiteral("two traces are called %1").arg(name));
        demo.traces.append({name, file});
    }
    for (int i = 0; i < demo.steps.size(); ++i) {
        const QString& wanted = demo.steps[i].trace;
        const bool known = wanted.isEmpty() || std::any_of(demo.traces.begin(), demo.traces.end(),
                                                           [&](const auto& trace) { return trace.first == wanted; });
        if (!known)
            return reader.error(QStringLiteral("step %1, trace").arg(i + 1),
                                QStringLiteral("there is no trace \"%1\"").arg(wanted));
    }
    return {};
}

} // namespace

QString DemoText::in(const QString& language) const
{
    if (m_byLanguage.contains(language)) return m_byLanguage.value(language);
    if (m_byLanguage.contains(QStringLiteral("en"))) return m_byLanguage.value(QStringLiteral("en"));
    return m_byLanguage.isEmpty() ? QString() : m_byLanguage.first();
}

QString Demo::traceOf(const DemoStep& step) const
{
    if (!step.trace.isEmpty()) return step.trace;
    return traces.isEmpty() ? QString() : traces.first().first;
}

Result<Demo> readDemo(const QByteArray& json, const QString& id, const QString& where)
{
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(json, &problem);
    if (problem.error != QJsonParseError::NoError)
        return bad(where, QStringLiteral("at byte %1").arg(problem.offset), problem.errorString());
    if (!document.isObject()) return bad(where, QStringLiteral("the file"), QStringLiteral("must be one JSON object"));
    const Reader reader(document.object(), where, {});
    FOURWALLS_TRY(reader.onlyKeys({QStringLiteral("format"), QStringLiteral("title"), QStringLiteral("summary"),
                                   QStringLiteral("wall"), QStringLiteral("traces"), QStringLiteral("steps")}));
    if (document.object().value(QStringLiteral("format")).toInt() != 1)
        return reader.error(QStringLiteral("format"),
                            QStringLiteral("must be 1, the only one that this version knows"));
    Demo demo;
    demo.id = id;
    FOURWALLS_TRY_ASSIGN(demo.title, reader.text(QStringLiteral("title"), true));
    FOURWALLS_TRY_ASSIGN(demo.summary, reader.text(QStringLiteral("summary"), false));
    FOURWALLS_TRY_ASSIGN(demo.wall, reader.word(QStringLiteral("wall")));
    static const QStringList walls{QStringLiteral("memory"), QStringLiteral("communication"),
                                   QStringLiteral("performance"), QStringLiteral("tuning"), QStringLiteral("all")};
    if (demo.wall.isEmpty()) demo.wall = QStringLiteral("all");
    if (!walls.contains(demo.wall))
        return reader.error(QStringLiteral("wall"),
                            QStringLiteral("must be one of ") + walls.join(QStringLiteral(", ")));
    const QJsonArray steps = document.object().value(QStringLiteral("steps")).toArray();
    if (steps.isEmpty() || steps.size() > kMostDemoSteps)
        return reader.error(QStringLiteral("steps"),
                            QStringLiteral("must be a list of 1 to %1 steps").arg(kMostDemoSteps));
    for (int i = 0; i < steps.size(); ++i) {
        FOURWALLS_TRY_ASSIGN(DemoStep step, readStep(steps.at(i), where, i + 1));
        demo.steps.append(std::move(step));
    }
    FOURWALLS_TRY(readTraces(reader, demo));
    return demo;
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// What to record, as a command line; and reading its progress.
#include "app/gui/record_request.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <nlohmann/json.hpp>

#include <utility>

namespace fourwalls::gui {

struct RecordWords {
    Q_DECLARE_TR_FUNCTIONS(RecordWords)
};

namespace {

QStringList argumentsOfCommand(const RecordRequest& request)
{
    QStringList list{QStringLiteral("record"), QStringLiteral("-o"), request.output};
    if (!request.commandSteps.isEmpty()) list << QStringLiteral("--steps") << request.commandSteps;
    list << QStringLiteral("--json") << QStringLiteral("--");
    const Result<QStringList> words = wordsOfCommand(request.command);
    return words.ok() ? list + *words : list << request.command;
}

} // namespace

Result<QStringList> wordsOfCommand(const QString& command)
{
    QStringList words;
    QString word;
    bool inWord = false;
    QChar quote;
    for (qsizetype i = 0; i < command.size(); ++i) {
        const QChar c = command[i];
        if (c == u'\\' && quote != u'\'' && i + 1 < command.size()) {
            const QChar next = command[++i];
            // Within double quotes a backslash stays but before what is special there.
            if (quote == u'"' && next != u'"' && next != u'\\' && next != u'$') word += c;
            word += next;
            inWord = true;
        } else if (!quote.isNull()) {
            if (c == quote)
                quote = QChar();
            else
                word += c;
        } else if (c == u'\'' || c == u'"') {
            quote = c;
            inWord = true;
        } else if (c.isSpace()) {
            if (inWord) words.append(std::exchange(word, {}));
            inWord = false;
        } else {
            word += c;
            inWord = true;
        }
    }
    if (!quote.isNull()) return Error{ErrorCode::InvalidArgument, "a quote is not closed", command.toStdString(), ""};
    if (inWord) words.append(word);
    static const QRegularExpression variable(QStringLiteral("^[A-Za-z_][A-Za-z0-9_]*="));
    if (!words.isEmpty() && variable.match(words.constFirst()).hasMatch()) words.prepend(QStringLiteral("env"));
    return words;
}

QString RecordRequest::problem() const
{
    static const QRegularExpression range(QStringLiteral("^[0-9]+-[0-9]+$"));
    if (output.isEmpty()) return RecordWords::tr("Name a file to save to.");
    if (command.isEmpty()) {
        if (model.isEmpty()) return RecordWords::tr("Name a model.");
        if (learningRate <= 0) return RecordWords::tr("The learning rate must be above 0.");
        if (transport == QLatin1String("nccl") && device != QLatin1String("cuda"))
            return RecordWords::tr("NCCL is for GPUs: choose CUDA, or another transport.");
        return {};
    }
    if (!commandSteps.isEmpty() && !range.match(commandSteps).hasMatch())
        return RecordWords::tr("Steps to record are written as 10-13.");
    const Result<QStringList> words = wordsOfCommand(command);
    if (!words.ok()) return RecordWords::tr("A quote in the command is not closed.");
    if (words->isEmpty()) return RecordWords::tr("Type the command that starts your program.");
    static const QStringList kShellWords{QStringLiteral("|"), QStringLiteral("&&"), QStringLiteral("||"),
                                         QStringLiteral(";"), QStringLiteral(">"),  QStringLiteral("<"),
                                         QStringLiteral("&"), QStringLiteral(">>")};
    for (const QString& word : *words)
        if (kShellWords.contains(word)) return RecordWords::tr("Pipes and redirections need a shell: sh -c '…'.");
    return {};
}

QStringList RecordRequest::arguments() const
{
    if (!command.isEmpty()) return argumentsOfCommand(*this);
    QStringList list{QStringLiteral("record"),
                     QStringLiteral("-o"),
                     output,
                     QStringLiteral("--model"),
                     model,
                     QStringLiteral("--steps"),
                     QString::number(steps),
                     QStringLiteral("--batch"),
                     QString::number(batch)};
    if (sequence > 0) list << QStringLiteral("--seq") << QString::number(sequence);
    list << QStringLiteral("--optimizer") << optimizer << QStringLiteral("--lr")
         << QString::number(learningRate, 'g', 6) << QStringLiteral("--precision") << precision;
    if (!plan.isEmpty()) list << QStringLiteral("--plan") << plan;
    if (device != QLatin1String("cpu")) list << QStringLiteral("--device") << device;
    if (transport != QLatin1String("local")) list << QStringLiteral("--transport") << transport;
    if (clock != QLatin1String("wall")) list << QStringLiteral("--clock") << clock;
    if (!cluster.isEmpty()) list << QStringLiteral("--cluster") << cluster;
    if (!data.isEmpty()) list << QStringLiteral("--data") << data;
    return list << QStringLiteral("--json");
}

QString shellCommand(const QString& program, const QStringList& arguments)
{
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=,+%@-]+$"));
    QStringList words;
    for (QString word : QStringList(program) + arguments) {
        if (!plain.match(word).hasMatch())
            word = QLatin1Char('\'') + word.replace(QLatin1Char('\''), QStringLiteral("'\\''")) + QLatin1Char('\'');
        words.append(word);
    }
    return words.join(QLatin1Char(' '));
}

namespace {

/// With --json each line of progress is one object: message, and of a step also step, steps, loss.
std::optional<RecordProgress> parseJsonProgress(const QString& line)
{
    const nlohmann::json object = nlohmann::json::parse(line.toStdString(), nullptr, false);
    if (!object.is_object()) return std::nullopt;
    RecordProgress progress;
    const auto whole = [&object](const char* key) -> std::optional<int> {
        const auto found = object.find(key);
        return found != object.end() && found->is_number_integer() ? std::optional(found->get<int>()) : std::nullopt;
    };
    progress.step = whole("step");
    progress.steps = whole("steps");
    if (const auto loss = object.find("loss"); loss != object.end() && loss->is_number())
        progress.loss = loss->get<double>();
    if (const auto share = object.find("progress"); share != object.end() && share->is_number())
        progress.share = share->get<double>();
    if (const auto text = object.find("message"); text != object.end() && text->is_string())
        progress.message = QString::fromStdString(text->get<std::string>());
    return progress;
}

} // namespace

RecordProgress parseProgress(const QString& line)
{
    if (line.trimmed().startsWith(QLatin1Char('{')))
        if (const auto progress = parseJsonProgress(line)) return *progress;
    static const QRegularExpression step(QStringLiteral("\\bstep\\s+[0-9]+\\s*\\(([0-9]+)/([0-9]+)\\)"),
                                         QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression loss(
        QStringLiteral("\\bloss\\s*[=:]?\\s*([-+]?[0-9]*\\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"),
        QRegularExpression::CaseInsensitiveOption);
    RecordProgress progress;
    progress.message = line.trimmed();
    if (const auto match = step.match(line); match.hasMatch()) {
        progress.step = match.captured(1).toInt();
        progress.steps = match.captured(2).toInt();
    }
    if (const auto match = loss.match(line); match.hasMatch()) progress.loss = match.captured(1).toDouble();
    return progress;
}

} // namespace fourwalls::gui

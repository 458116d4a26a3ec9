// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of a demo's figures and how they are written. See demo_figures.h.
#include "views/demos/demo_figures.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

Error problem(ErrorCode code, const QString& what, const QString& expression)
{
    return {code, what.toStdString(), ("{" + expression + "}").toStdString(), "docs/demos.md lists the figures"};
}

/// A recursive-descent reader; every rule returns the value of what it read.
class Expression {
public:
    Expression(const QString& text, const DemoSources& sources) : m_text(text), m_sources(sources) {}

    Result<DemoValue> value()
    {
        FOURWALLS_TRY_ASSIGN(DemoValue result, sum());
        skipSpaces();
        if (m_at < m_text.size()) return wrong(QStringLiteral("cannot be read from \"%1\" on").arg(m_text.mid(m_at)));
        return result;
    }

private:
    Error wrong(const QString& what) const { return problem(ErrorCode::Format, what, m_text); }

    void skipSpaces()
    {
        while (m_at < m_text.size() && m_text[m_at].isSpace()) ++m_at;
    }

    /// The next character if it is one of these; 0 otherwise.
    char take(const char* wanted)
    {
        skipSpaces();
        for (; *wanted && m_at < m_text.size(); ++wanted) {
            if (m_text[m_at] != QLatin1Char(*wanted)) continue;
            ++m_at;
            return *wanted;
        }
        return 0;
    }

    Result<DemoValue> sum()
    {
        FOURWALLS_TRY_ASSIGN(DemoValue left, product());
        while (const char sign = take("+-")) {
            FOURWALLS_TRY_ASSIGN(const DemoValue right, product());
            if (left.unit != right.unit && right.unit != DemoUnit::None && left.unit != DemoUnit::None)
                return wrong(QStringLiteral("adds figures of different units"));
            if (left.unit == DemoUnit::None) left.unit = right.unit;
            left.number += sign == '+' ? right.number : -right.number;
        }
        return left;
    }

    Result<DemoValue> product()
    {
        FOURWALLS_TRY_ASSIGN(DemoValue left, factor());
        while (const char sign = take("*/")) {
            FOURWALLS_TRY_ASSIGN(const DemoValue right, factor());
            if (sign == '*') {
                const bool plain = left.unit == DemoUnit::None || left.unit == DemoUnit::Count;
                left.unit = plain ? right.unit : left.unit;
                left.number *= right.number;
                continue;
            }
            if (right.number == 0) return wrong(QStringLiteral("divides by zero"));
            left.number /= right.number;
            if (left.unit == right.unit) {
                left.unit = DemoUnit::None;
            } else if (left.unit == DemoUnit::Bytes && right.unit == DemoUnit::Seconds) {
                left.unit = DemoUnit::BytesPerSecond;
            } else if (right.unit != DemoUnit::None && right.unit != DemoUnit::Count &&
                       right.unit != DemoUnit::Fraction) {
                left.unit = DemoUnit::None;
            }
        }
        return left;
    }

    Result<DemoValue> factor()
    {
        if (take("(")) {
            FOURWALLS_TRY_ASSIGN(DemoValue inside, sum());
            if (!take(")")) return wrong(QStringLiteral("lacks a closing parenthesis"));
            return inside;
        }
        skipSpaces();
        const qsizetype begin = m_at;
        const auto isWord = [](QChar c) {
            return c.isLetterOrNumber() || c == QLatin1Char('_') || c == QLatin1Char('.');
        };
        while (m_at < m_text.size() && isWord(m_text[m_at])) ++m_at;
        const QString word = m_text.mid(begin, m_at - begin);
        if (word.isEmpty()) return wrong(QStringLiteral("lacks a figure"));
        if (!word.front().isDigit()) return figure(word);
        bool good = false;
        const double number = word.toDouble(&good);
        if (!good) return wrong(QStringLiteral("\"%1\" is no number").arg(word));
        return DemoValue{number, DemoUnit::None, {}};
    }

    Result<DemoValue> figure(const QString& path) const
    {
        if (const auto own = m_sources.byName.value(m_sources.current)) {
            if (const auto found = own->find(path); found != own->end()) return found->second;
        }
        const auto other = m_sources.byName.value(path.section(QLatin1Char('.'), 0, 0));
        if (other) {
            if (const auto found = other->find(path.section(QLatin1Char('.'), 1)); found != other->end())
                return found->second;
        }
        return problem(ErrorCode::NotFound, QStringLiteral("the trace has no figure \"%1\"").arg(path), m_text);
    }

    QString m_text;
    const DemoSources& m_sources;
    qsizetype m_at = 0;
};

QString plain(const DemoValue& value, ByteUnit bytes)
{
    switch (value.unit) {
    case DemoUnit::Seconds: return formatDuration(Duration{std::llround(std::clamp(value.number, -1e9, 1e9) * 1e9)}, 3);
    case DemoUnit::Bytes: return formatBytes(value.number, bytes);
    case DemoUnit::Fraction: return formatPercent(value.number, std::fabs(value.number) < 0.995 ? 1 : 0);
    case DemoUnit::Count: return formatCount(std::llround(std::clamp(value.number, -9e15, 9e15)));
    case DemoUnit::BytesPerSecond: return formatRate(value.number, QStringLiteral("B/s"));
    case DemoUnit::PerSecond: return formatRate(value.number, QString());
    case DemoUnit::Word: return value.word;
    case DemoUnit::None: break;
    }
    return formatFigure(value.number, 3);
}

Result<QString> written(DemoValue value, const QString& form, ByteUnit bytes, const QString& expression)
{
    if (form.isEmpty()) return plain(value, bytes);
    if (value.unit == DemoUnit::Word) return problem(ErrorCode::Format, QStringLiteral("is a word"), expression);
    if (form == QLatin1String("percent")) return formatPercent(value.number, std::fabs(value.number) < 0.095 ? 1 : 0);
    if (form == QLatin1String("times")) return formatFigure(value.number, 2) + QChar(0x00d7);
    if (form == QLatin1String("figure")) return formatFigure(value.number, 3);
    if (form == QLatin1String("whole"))
        value.unit = DemoUnit::Count;
    else if (form == QLatin1String("bytes"))
        value.unit = DemoUnit::Bytes;
    else if (form == QLatin1String("time"))
        value.unit = DemoUnit::Seconds;
    else
        return problem(ErrorCode::Format, QStringLiteral("there is no form \"%1\"").arg(form), expression);
    return plain(value, bytes);
}

} // namespace

Result<DemoValue> evaluate(const QString& expression, const DemoSources& sources)
{
    return Expression(expression, sources).value();
}

QString fillIn(const QString& text, const DemoSources& sources, ByteUnit bytes, QStringList* problems,
               QStringList* figures)
{
    QString result;
    qsizetype at = 0;
    while (at < text.size()) {
        const qsizetype open = text.indexOf(QLatin1Char('{'), at);
        const qsizetype close = open < 0 ? -1 : text.indexOf(QLatin1Char('}'), open);
        if (close < 0) {
            if (open >= 0 && problems) problems->append(QStringLiteral("a brace is not closed: ") + text.mid(open));
            result += text.mid(at);
            break;
        }
        result += text.mid(at, open - at);
        const QString inside = text.mid(open + 1, close - open - 1);
        const QString expression = inside.section(QLatin1Char('|'), 0, 0).trimmed();
        const Result<DemoValue> value = evaluate(expression, sources);
        const Result<QString> words =
            value.ok() ? written(*value, inside.section(QLatin1Char('|'), 1).trimmed(), bytes, inside)
                       : Result<QString>(value.error());
        result += words.ok() ? *words : QString(kDash);
        if (words.ok() && figures) figures->append(*words);
        if (!words.ok() && problems) problems->append(QString::fromStdString(words.error().message()));
        at = close + 1;
    }
    return result;
}

} // namespace fourwalls::views

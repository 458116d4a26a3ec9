// SPDX-License-Identifier: GPL-3.0-or-later
// See claim_words.h.
#include "views/demos/claim_words.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QStringList>

namespace fourwalls::views {

namespace {

const QRegularExpression& numberForm()
{
    static const QRegularExpression form(QStringLiteral("[0-9][0-9,]*(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?"));
    return form;
}

QStringList numbersIn(const QString& text)
{
    QStringList found;
    for (auto it = numberForm().globalMatch(text); it.hasNext();) found << it.next().captured();
    return found;
}

QString withoutNumbers(QString text)
{
    return text.replace(numberForm(), QStringLiteral("#"));
}

} // namespace

ClaimWords ClaimWords::read(const QByteArray& json)
{
    ClaimWords words;
    const QJsonObject claims = QJsonDocument::fromJson(json).object().value(QStringLiteral("claims")).toObject();
    const auto sentence = [](const QJsonValue& value) {
        const QJsonObject object = value.toObject();
        return Sentence{object.value(QStringLiteral("of")).toString(), object.value(QStringLiteral("is")).toString()};
    };
    for (auto it = claims.begin(); it != claims.end(); ++it) {
        const QJsonObject claim = it.value().toObject();
        words.m_entries.insert(it.key(), {claim.value(QStringLiteral("statement")).toString(),
                                          sentence(claim.value(QStringLiteral("because"))),
                                          sentence(claim.value(QStringLiteral("working")))});
    }
    return words;
}

QString ClaimWords::translated(const std::string& now, const Sentence& sentence)
{
    const QString english = QString::fromStdString(now);
    if (sentence.is.isEmpty() || withoutNumbers(english) != withoutNumbers(sentence.of)) return english;
    // The model may say other figures than when this was translated.
    const QStringList before = numbersIn(sentence.of), after = numbersIn(english);
    // Figures that were alike and no longer are cannot be told apart in the translation.
    for (qsizetype i = 0; i < before.size(); ++i)
        if (after[before.indexOf(before[i])] != after[i]) return english;
    QString text;
    qsizetype at = 0;
    for (auto it = numberForm().globalMatch(sentence.is); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        const auto index = before.indexOf(match.captured());
        text += sentence.is.mid(at, match.capturedStart() - at) + (index < 0 ? match.captured() : after[index]);
        at = match.capturedEnd();
    }
    return text + sentence.is.mid(at);
}

QString ClaimWords::statement(const claims::Claim& claim) const
{
    const QString text = m_entries.value(QString::fromStdString(claim.id)).statement;
    return text.isEmpty() ? QString::fromStdString(claim.statement) : text;
}

QString ClaimWords::because(const claims::Claim& claim) const
{
    return translated(claim.because, m_entries.value(QString::fromStdString(claim.id)).because);
}

QString ClaimWords::working(const claims::Claim& claim) const
{
    return translated(claim.working, m_entries.value(QString::fromStdString(claim.id)).working);
}

} // namespace fourwalls::views

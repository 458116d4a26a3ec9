// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of claims, in units that a language may count differently.
#include "tests/support/test_program.h"
#include "views/demos/claims_model.h"

#include <QTranslator>
#include <QtTest>

namespace tst_claims_model {

using namespace fourwalls;
using namespace fourwalls::views;

class ClaimsModelTest : public QObject {
    Q_OBJECT

    static QString claimedOf(double value, const char* unit)
    {
        claims::Claim claim;
        claim.id = "a-claim";
        claim.claimed = value;
        claim.unit = unit;
        ClaimsModel model;
        model.setClaims({claim}, {});
        QString text = model.index(0, ClaimsModel::Claimed).data().toString();
        for (const char16_t space : {u'\x202F', u'\x2009'}) text.replace(QChar(space), QLatin1Char(' '));
        return text;
    }

private slots:
    /// Chinese has no word for a billion: it counts in hundred millions, so that the number is another one.
    void billionsAreCountedAsTheLanguageDoes()
    {
        struct Chinese : QTranslator {
            using QTranslator::QTranslator;
            bool isEmpty() const override { return false; }
            QString translate(const char*, const char* source, const char*, int) const override
            {
                const QLatin1String text(source);
                if (text == QLatin1String("billion")) return QStringLiteral("亿");
                return text == QLatin1String("1") ? QStringLiteral("10") : QString();
            }
        } translator;
        QCOMPARE(claimedOf(2, "billion"), QStringLiteral("2 billion"));
        QCoreApplication::installTranslator(&translator);
        QCOMPARE(claimedOf(2, "billion"), QStringLiteral("20 亿"));
        QCOMPARE(claimedOf(2, "days"), QStringLiteral("2 days"));
        QCoreApplication::removeTranslator(&translator);
    }
};

FOURWALLS_TEST(ClaimsModelTest, QApplication)

} // namespace tst_claims_model

#include "tst_claims_model.moc"

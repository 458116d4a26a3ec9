// SPDX-License-Identifier: GPL-3.0-or-later
// The translations are complete, keep every %1 and %n, and reach the screen.
#include "app/gui/appearance.h"
#include "app/gui/help_dialog.h"
#include "tests/support/test_program.h"
#include "views/chrome/welcome_page.h"
#include "views/view_registry.h"
#include "views/words/words.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QXmlStreamReader>
#include <QtTest/QtTest>

#include <set>

namespace tst_translations {

class TestTranslations : public QObject {
    Q_OBJECT
private:
    /// "%1", "%2", "%n" of a text.
    static std::set<QString> placeholders(const QString& text)
    {
        static const QRegularExpression form(QStringLiteral("%(?:[0-9]+|n)"));
        std::set<QString> found;
        for (auto it = form.globalMatch(text); it.hasNext();) found.insert(it.next().captured());
        return found;
    }

private slots:
    void filesAreCompleteAndKeepPlaceholders_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("least");
        QTest::newRow("Chinese") << QStringLiteral("fourwalls_zh_CN.ts") << 300;
        QTest::newRow("English plurals") << QStringLiteral("fourwalls_en.ts") << 3;
    }
    void filesAreCompleteAndKeepPlaceholders()
    {
        QFETCH(QString, file);
        QFETCH(int, least);
        QFile ts(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/translations/") + file);
        QVERIFY(ts.open(QIODevice::ReadOnly));
        QXmlStreamReader xml(&ts);
        QString source;
        int messages = 0;
        while (!xml.atEnd()) {
            xml.readNext();
            if (!xml.isStartElement()) continue;
            if (xml.name() == QLatin1String("source")) source = xml.readElementText();
            if (xml.name() != QLatin1String("translation")) continue;
            QVERIFY2(xml.attributes().value(QLatin1String("type")) != QLatin1String("unfinished"), qPrintable(source));
            const QString text = xml.readElementText(QXmlStreamReader::IncludeChildElements).trimmed();
            QVERIFY2(!text.isEmpty(), qPrintable(source));
            QVERIFY2(placeholders(text) == placeholders(source), qPrintable(source + QStringLiteral(" -> ") + text));
            ++messages;
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QVERIFY2(messages >= least, qPrintable(QString::number(messages)));
    }

    void chineseReachesClassesInNamespaces()
    {
        fourwalls::gui::applyLanguage(QStringLiteral("zh_CN"));
        QVERIFY(fourwalls::views::WelcomePage::tr("Recent files") != QStringLiteral("Recent files"));
        QVERIFY(fourwalls::views::words(fourwalls::Phase::Forward) != QStringLiteral("forward"));
        QVERIFY(fourwalls::views::viewTitle(QStringLiteral("timeline")) != QStringLiteral("Timeline"));
        fourwalls::gui::applyLanguage(QStringLiteral("en"));
        QCOMPARE(fourwalls::views::WelcomePage::tr("Recent files"), QStringLiteral("Recent files"));
    }

    void theManualIsThereInBothLanguages()
    {
        using fourwalls::gui::HelpDialog;
        const QDir manual(QStringLiteral(":/manual")), chinese(QStringLiteral(":/manual/zh_CN"));
        const QStringList pages = manual.entryList({QStringLiteral("*.md")});
        QVERIFY(pages.size() >= 9);
        QCOMPARE(chinese.entryList({QStringLiteral("*.md")}), pages);
        const QRegularExpression link(QStringLiteral("\\]\\(([^)]+)\\)")), heading(QStringLiteral("(?m)^##? "));
        for (const QString& page : pages) {
            const auto textOf = [&](const QDir& folder) {
                QFile file(folder.filePath(page));
                return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
            };
            const QString english = textOf(manual), translated = textOf(chinese);
            QVERIFY2(english.count(heading) == translated.count(heading), qPrintable(page));
            QStringList links[2];
            for (int i = 0; i < 2; ++i)
                for (auto it = link.globalMatch(i == 0 ? english : translated); it.hasNext();)
                    links[i] << it.next().captured(1);
            QCOMPARE(links[0], links[1]);
            QVERIFY2(links[0].filter(QStringLiteral(".png")).size() >= 1, qPrintable(page)); // of its view
            for (const QString& target : links[0]) QVERIFY2(manual.exists(target), qPrintable(target));
        }

        HelpDialog help;
        fourwalls::gui::applyLanguage(QStringLiteral("zh_CN"));
        help.showPageOf(QStringLiteral("pipeline"));
        QCOMPARE(help.page(), QStringLiteral("pipeline"));
        QVERIFY(help.text().contains(QStringLiteral("气泡")));
        fourwalls::gui::applyLanguage(QStringLiteral("en"));
        QCoreApplication::sendPostedEvents();
        QVERIFY(help.text().contains(QStringLiteral("bubble")));
        help.showPageOf(QStringLiteral("steps"));
        QCOMPARE(help.page(), QStringLiteral("compare"));
    }

    void englishHasPlurals()
    {
        fourwalls::gui::applyLanguage(QStringLiteral("en"));
        QCOMPARE(QCoreApplication::translate("StatusStrip", "%n rank(s)", nullptr, 1), QStringLiteral("1 rank"));
        QCOMPARE(QCoreApplication::translate("StatusStrip", "%n rank(s)", nullptr, 8), QStringLiteral("8 ranks"));
    }
};

FOURWALLS_TEST(TestTranslations, QApplication)

} // namespace tst_translations

#include "tst_translations.moc"

// SPDX-License-Identifier: GPL-3.0-or-later
// Pages that say what happened: all of it can be read.
#include <QtTest>

#include "tests/support/test_program.h"
#include "views/chrome/message_page.h"

#include <QLabel>
#include <QPushButton>

namespace tst_message_page {

using namespace fourwalls;

class MessagePageTest : public QObject {
    Q_OBJECT

private slots:
    void longTextsHaveTheirLines();
};

void MessagePageTest::longTextsHaveTheirLines()
{
    views::MessagePage page;
    const QList buttons{page.addButton(QStringLiteral("Open a folder of dumps…"), true),
                        page.addButton(QStringLiteral("Open one dump…"), false)};
    page.show();
    std::string text;
    for (int word = 0; word < 15; ++word)
        text += word % 5 == 4 ? "\nand A_LONG_NAME_OF_A_VARIABLE=2000 " : "a sentence that goes on ";
    page.showError(QStringLiteral("This could not be read"), {ErrorCode::Format, text, "FILE", text});
    for (const int width : {1100, 700, 380, 330, 1100}) {
        page.resize(width, 900);
        for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents();
        int labels = 0;
        for (const QLabel* label : page.findChildren<QLabel*>()) {
            if (!label->isVisible()) continue;
            ++labels;
            QVERIFY2(label->height() >= label->heightForWidth(label->width()),
                     qPrintable(QString::number(width) + label->text().left(30)));
        }
        QCOMPARE(labels, 4);
        for (const QPushButton* button : buttons) {
            QVERIFY(button->height() >= button->sizeHint().height());
            QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(QString::number(width)));
        }
    }
}

FOURWALLS_TEST(MessagePageTest, QApplication)

} // namespace tst_message_page

#include "tst_message_page.moc"

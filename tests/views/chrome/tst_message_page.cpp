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
    QPushButton* const button = page.addButton(QStringLiteral("Open…"), true);
    page.resize(1100, 640);
    page.show();
    std::string text;
    for (int word = 0; word < 15; ++word) text += "a sentence that goes on ";
    page.showError(QStringLiteral("This could not be read"), {ErrorCode::Format, text, "FILE", text});
    QCoreApplication::processEvents();
    int labels = 0;
    for (const QLabel* label : page.findChildren<QLabel*>()) {
        if (!label->isVisible()) continue;
        ++labels;
        QVERIFY2(label->height() >= label->heightForWidth(label->width()), qPrintable(label->text().left(30)));
    }
    QCOMPARE(labels, 4);
    QVERIFY(button->height() >= button->sizeHint().height());
}

FOURWALLS_TEST(MessagePageTest, QApplication)

} // namespace tst_message_page

#include "tst_message_page.moc"

// SPDX-License-Identifier: GPL-3.0-or-later
// The card under the views while a demo plays: what one sees, what to touch, a question with its answer, back and next.
#pragma once

#include <QList>
#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;
class QToolButton;

namespace fourwalls::views {

/// One step in the reader's language, its figures filled in.
struct DemoPage {
    QString title;
    int number = 1, count = 1;
    QString caption, touch, question, answer;
    bool own = false;  ///< the last step: offers the reader's own trace
    bool busy = false; ///< its figures are still being read
};

class DemoPanel : public QWidget {
    Q_OBJECT
public:
    explicit DemoPanel(QWidget* parent = nullptr);

    /// Shows a step; its answer is hidden again unless only the language changed.
    void setPage(const DemoPage& page, bool keepAnswer = false);
    const DemoPage& page() const { return m_page; }
    bool showsAnswer() const { return m_answerShown; }
    void revealAnswer();

signals:
    void backRequested();
    void nextRequested();
    void closeRequested();
    void openRequested();
    void recordRequested();
    void demosRequested();
    /// What a screen reader should say: the step's texts.
    void pageShown();

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void retranslate();
    void restyle();
    void showPage();

    DemoPage m_page;
    bool m_answerShown = false;
    QLabel *m_title, *m_caption, *m_touch, *m_question;
    QPushButton *m_answer, *m_back, *m_next, *m_open, *m_record, *m_more;
    QToolButton* m_close;
};

} // namespace fourwalls::views

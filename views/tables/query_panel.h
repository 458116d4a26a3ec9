// SPDX-License-Identifier: GPL-3.0-or-later
// Where SQL is typed: the text, queries to start from, the tables and views there are, and buttons to ask and to stop.
#pragma once

#include <QPlainTextEdit>
#include <QWidget>

class QComboBox;
class QPushButton;

namespace fourwalls::views {

/// A text box in which Ctrl+Return asks and Tab leaves.
class QueryEdit : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit QueryEdit(QWidget* parent = nullptr);

signals:
    void asked();

protected:
    void keyPressEvent(QKeyEvent* event) override;
};

class QueryPanel : public QWidget {
    Q_OBJECT
public:
    explicit QueryPanel(QWidget* parent = nullptr);

    QueryEdit& edit() { return *m_edit; }
    QPushButton& askButton() { return *m_ask; }
    QString text() const { return m_edit->toPlainText(); }
    void setText(const QString& text);
    /// While an answer is outstanding the button stops the query.
    void setRunning(bool running);
    void retranslate();

    QSize sizeHint() const override { return {600, 128}; }

signals:
    void askRequested(const QString& text);
    void stopRequested();

private:
    void ask();
    void fillExamples();

    QueryEdit* m_edit;
    QComboBox *m_examples, *m_tables;
    QPushButton* m_ask;
    bool m_running = false;
};

} // namespace fourwalls::views

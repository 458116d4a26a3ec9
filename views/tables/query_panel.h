// SPDX-License-Identifier: GPL-3.0-or-later
// Where SQL is typed: the text, queries to start from, the tables and views there are, and buttons to ask and to stop.
#pragma once

#include <QPlainTextEdit>
#include <QStringList>
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
    /// Queries that the user keeps, as he wrote them.
    void setSaved(const QStringList& queries);
    const QStringList& saved() const { return m_saved; }
    QPushButton& saveButton() { return *m_save; }
    /// While an answer is outstanding the button stops the query.
    void setRunning(bool running);
    void retranslate();

    QSize sizeHint() const override { return {600, 128}; }

signals:
    void askRequested(const QString& text);
    void stopRequested();
    /// The user keeps another query, or one less.
    void savedChanged(const QStringList& queries);

private:
    void ask();
    void fillExamples();
    void saveOrForget();
    void nameSaveButton();

    QueryEdit* m_edit;
    QComboBox *m_examples, *m_tables;
    QPushButton *m_ask, *m_save;
    QStringList m_saved;
    bool m_running = false;
};

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// The command palette: type a few letters of any action's name and run it.
#pragma once

#include <QAction>
#include <QDialog>
#include <QList>
#include <QPointer>

class QLineEdit;
class QListWidget;

namespace fourwalls::gui {

/// How well `pattern` fits `text`: its letters must come in order, case-insensitively. 0: not at all; whole words
/// and beginnings of words score higher.
int matchScore(const QString& pattern, const QString& text);

/// What an action is called, without the letter to press and the points after it: "Open a trace" of "&Open a trace…",
/// and of "打开轨迹文件(&O)…" what stands before the parenthesis.
QString plainText(const QAction& action);

class CommandPalette : public QDialog {
    Q_OBJECT
public:
    explicit CommandPalette(QWidget* parent = nullptr);
    /// Shows the palette below `anchor` with the enabled ones of these actions.
    void open(const QList<QAction*>& actions, QWidget* anchor);
    QStringList shown() const;

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void retranslate();
    void filter(const QString& pattern);
    void runCurrent();

    QLineEdit* m_edit;
    QListWidget* m_list;
    QList<QPointer<QAction>> m_actions;
};

} // namespace fourwalls::gui

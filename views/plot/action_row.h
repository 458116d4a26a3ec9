// SPDX-License-Identifier: GPL-3.0-or-later
// Buttons below a sentence that says what is missing: each runs a command of the window.
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

class QHBoxLayout;
class QPushButton;

namespace fourwalls::views {

/// What one can do at once. command: an action of the window by its object name ("whatif.show", "file.steps").
struct PageAction {
    QString text, command;
    friend bool operator==(const PageAction&, const PageAction&) = default;
};

class ActionRow : public QWidget {
    Q_OBJECT
public:
    explicit ActionRow(QWidget* parent = nullptr);
    /// None: the row is hidden.
    void setActions(const std::vector<PageAction>& actions);
    const std::vector<PageAction>& pageActions() const { return m_actions; }
    const std::vector<QPushButton*>& buttons() const { return m_buttons; }

signals:
    void commandRequested(const QString& command);

private:
    QHBoxLayout* m_layout;
    std::vector<PageAction> m_actions;
    std::vector<QPushButton*> m_buttons;
};

} // namespace fourwalls::views

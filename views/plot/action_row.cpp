// SPDX-License-Identifier: GPL-3.0-or-later
// See action_row.h.
#include "views/plot/action_row.h"

#include <QHBoxLayout>
#include <QPushButton>

namespace fourwalls::views {

ActionRow::ActionRow(QWidget* parent) : QWidget(parent), m_layout(new QHBoxLayout(this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(8);
    m_layout->addStretch(1);
    hide();
}

void ActionRow::setActions(const std::vector<PageAction>& actions)
{
    if (actions == m_actions) return;
    m_actions = actions;
    for (QPushButton* button : m_buttons) {
        // Not at once: the button may be the sender.
        m_layout->removeWidget(button);
        button->hide();
        button->deleteLater();
    }
    m_buttons.clear();
    for (const PageAction& action : m_actions) {
        auto* button = new QPushButton(action.text, this);
        connect(button, &QPushButton::clicked, this,
                [this, command = action.command] { emit commandRequested(command); });
        m_layout->insertWidget(m_layout->count() - 1, button);
        m_buttons.push_back(button);
    }
    setVisible(!m_actions.empty());
    adjustSize();
}

} // namespace fourwalls::views

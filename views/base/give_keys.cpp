// SPDX-License-Identifier: GPL-3.0-or-later
// See give_keys.h.
#include "views/base/give_keys.h"

#include <QFocusEvent>
#include <QPointer>
#include <QWidget>

namespace fourwalls::views {

namespace {

class KeyGiver : public QObject {
public:
    KeyGiver(QWidget& part, QWidget& page) : QObject(&page), m_part(&part) { page.installEventFilter(this); }

    bool eventFilter(QObject*, QEvent* event) override
    {
        if (event->type() == QEvent::FocusIn && m_part) m_part->setFocus(static_cast<QFocusEvent*>(event)->reason());
        return false;
    }

private:
    QPointer<QWidget> m_part;
};

} // namespace

void giveKeysTo(QWidget& part, QWidget& page)
{
    page.setFocusPolicy(Qt::ClickFocus);
    new KeyGiver(part, page);
}

} // namespace fourwalls::views

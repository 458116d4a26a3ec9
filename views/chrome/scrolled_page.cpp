// SPDX-License-Identifier: GPL-3.0-or-later
// See scrolled_page.h.
#include "views/chrome/scrolled_page.h"

#include <QEvent>
#include <QLayout>
#include <QScrollBar>

#include <algorithm>

namespace fourwalls::views {

namespace {

int heightNeeded(const QWidget& page, int width)
{
    const QLayout* layout = page.layout();
    if (layout && layout->hasHeightForWidth())
        return std::max(layout->totalMinimumHeightForWidth(width), page.minimumHeight());
    return std::max(page.minimumSizeHint().height(), page.minimumHeight());
}

} // namespace

ScrolledPage::ScrolledPage(QWidget* page, QWidget* parent) : QScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    viewport()->setAutoFillBackground(false);
    setWidget(page);
    page->setAutoFillBackground(false); // setWidget turns it on
    page->installEventFilter(this);
}

void ScrolledPage::fit()
{
    if (!widget()) return;
    const QSize room = maximumViewportSize();
    const int bar = verticalScrollBar()->sizeHint().width();
    const int least = std::max(widget()->minimumSizeHint().width(), widget()->minimumWidth());
    QSize size(std::max(room.width(), least), 0);
    const int high = room.height() - (least > room.width() ? horizontalScrollBar()->sizeHint().height() : 0);
    if (heightNeeded(*widget(), size.width()) > high) size.setWidth(std::max(room.width() - bar, least));
    size.setHeight(std::max(high, heightNeeded(*widget(), size.width())));
    widget()->resize(size);
}

void ScrolledPage::resizeEvent(QResizeEvent* event)
{
    fit();
    QScrollArea::resizeEvent(event);
}

bool ScrolledPage::eventFilter(QObject* watched, QEvent* event)
{
    // After the page's own layout has heard of it.
    if (watched == widget() && event->type() == QEvent::LayoutRequest)
        QMetaObject::invokeMethod(this, &ScrolledPage::fit, Qt::QueuedConnection);
    return QScrollArea::eventFilter(watched, event);
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// See wrap_row.h.
#include "views/plot/wrap_row.h"

#include <QStyle>
#include <QWidget>

#include <algorithm>

namespace fourwalls::views {

namespace {

bool grows(const QLayoutItem& item)
{
    return item.expandingDirections() & Qt::Horizontal;
}

int heightAt(const QLayoutItem& item, int width)
{
    return item.hasHeightForWidth() ? item.heightForWidth(width) : item.sizeHint().height();
}

} // namespace

WrapRow::WrapRow(QWidget* parent) : QLayout(parent)
{
    setContentsMargins(0, 0, 0, 0);
    setSpacing(6);
}

WrapRow::~WrapRow() = default;

void WrapRow::addItem(QLayoutItem* item)
{
    m_items.emplace_back(item);
    invalidate();
}

void WrapRow::addLayout(QLayout* layout)
{
    addChildLayout(layout);
    addItem(layout);
}

QLayoutItem* WrapRow::itemAt(int index) const
{
    return index >= 0 && index < count() ? m_items[static_cast<std::size_t>(index)].get() : nullptr;
}

QLayoutItem* WrapRow::takeAt(int index)
{
    if (index < 0 || index >= count()) return nullptr;
    QLayoutItem* item = m_items[static_cast<std::size_t>(index)].release();
    m_items.erase(m_items.begin() + index);
    invalidate();
    return item;
}

int WrapRow::roomInside(int width) const
{
    const QMargins margins = contentsMargins();
    return width - margins.left() - margins.right();
}

std::vector<WrapRow::Row> WrapRow::rowsFor(int width) const
{
    std::vector<Row> rows;
    for (const auto& item : m_items) {
        if (item->isEmpty()) continue;
        // What cuts its text, as a finding, may have less than it wants; what has rows of its own, as a legend, does not.
        const int wanted = std::min(item->sizeHint().width(), width);
        const bool canBeCut = grows(*item) && !item->hasHeightForWidth();
        const int needed = canBeCut ? std::min(wanted, item->minimumSize().width()) : wanted;
        if (rows.empty() || rows.back().width + gap() + needed > width) {
            rows.push_back({});
        } else {
            rows.back().width += gap();
        }
        rows.back().items.push_back(item.get());
        rows.back().width += needed;
    }
    for (Row& row : rows) {
        const std::vector<int> widths = widthsOf(row, width);
        for (std::size_t i = 0; i < row.items.size(); ++i)
            row.height = std::max(row.height, heightAt(*row.items[i], widths[i]));
    }
    return rows;
}

std::vector<int> WrapRow::widthsOf(const Row& row, int width) const
{
    std::vector<int> widths;
    int growing = 0, spare = width - gap() * static_cast<int>(row.items.size() - 1);
    for (const QLayoutItem* item : row.items) {
        growing += grows(*item) ? 1 : 0;
        widths.push_back(grows(*item) ? std::min(width, item->minimumSize().width())
                                      : std::min(item->sizeHint().width(), width));
        spare -= widths.back();
    }
    for (std::size_t i = 0; i < row.items.size(); ++i) {
        if (!grows(*row.items[i])) continue;
        const int share = std::min(std::max(0, spare) / growing, row.items[i]->maximumSize().width() - widths[i]);
        widths[i] += share;
        spare -= share;
        --growing;
    }
    return widths;
}

int WrapRow::heightOf(const std::vector<Row>& rows) const
{
    const QMargins margins = contentsMargins();
    int height = margins.top() + margins.bottom();
    for (const Row& row : rows) height += row.height;
    return rows.empty() ? height : height + gap() * static_cast<int>(rows.size() - 1);
}

int WrapRow::rows() const
{
    return static_cast<int>(rowsFor(roomInside(m_width)).size());
}

QSize WrapRow::sizeHint() const
{
    constexpr int kUnlimited = 1 << 20;
    int width = 0;
    for (const auto& item : m_items)
        if (!item->isEmpty()) width += item->sizeHint().width() + (width > 0 ? gap() : 0);
    const int shown = m_width > 0 ? roomInside(m_width) : kUnlimited;
    return {width + contentsMargins().left() + contentsMargins().right(), heightOf(rowsFor(shown))};
}

QSize WrapRow::minimumSize() const
{
    int widest = 0;
    for (const auto& item : m_items)
        if (!item->isEmpty()) widest = std::max(widest, item->minimumSize().width());
    return {widest + contentsMargins().left() + contentsMargins().right(), sizeHint().height()};
}

void WrapRow::place(const Row& row, int left, int top, int width) const
{
    const Qt::LayoutDirection direction = parentWidget() ? parentWidget()->layoutDirection() : Qt::LeftToRight;
    const std::vector<int> widths = widthsOf(row, width);
    for (std::size_t i = 0; i < row.items.size(); ++i) {
        const int height = std::min(heightAt(*row.items[i], widths[i]), row.height);
        const QRect at(left, top + (row.height - height) / 2, widths[i], height);
        row.items[i]->setGeometry(QStyle::visualRect(direction, geometry(), at));
        left += widths[i] + gap();
    }
}

void WrapRow::setGeometry(const QRect& rect)
{
    const int before = sizeHint().height();
    QLayout::setGeometry(rect);
    m_width = rect.width();
    const QMargins margins = contentsMargins();
    int top = rect.top() + margins.top();
    for (const Row& row : rowsFor(roomInside(rect.width()))) {
        place(row, rect.left() + margins.left(), top, roomInside(rect.width()));
        top += row.height + gap();
    }
    // Another width may need another number of rows.
    if (sizeHint().height() != before) invalidate();
}

} // namespace fourwalls::views

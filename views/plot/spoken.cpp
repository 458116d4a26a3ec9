// SPDX-License-Identifier: GPL-3.0-or-later
// The bridge from Spoken to the interfaces that Qt hands to screen readers.
#include "views/plot/spoken.h"

#include <QAbstractButton>
#include <QAccessibleWidget>
#include <QButtonGroup>
#include <QHash>
#include <QKeySequenceEdit>
#include <QPointer>
#include <QScrollArea>
#include <QWidget>

#include <algorithm>

namespace fourwalls::views {

namespace {

/// Of more parts only the current one is told: who reads a tree of objects reads all of it.
constexpr int kMostParts = 2000;

const Spoken* spokenOf(const QObject* object)
{
    const auto* spoken = dynamic_cast<const Spoken*>(object);
    return spoken ? &spoken->speaker() : nullptr;
}

QAccessible::Role roleOfParts(QAccessible::Role role)
{
    switch (role) {
    case QAccessible::Tree: return QAccessible::TreeItem;
    case QAccessible::Table: return QAccessible::Cell;
    default: return QAccessible::ListItem;
    }
}

class SpokenPart : public QAccessibleInterface, public QAccessibleTableCellInterface {
public:
    SpokenPart(QWidget* widget, int child) : m_widget(widget), m_child(child) {}

    bool isValid() const override { return m_widget && spokenOf(m_widget) && part() >= 0; }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_widget); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    QWindow* window() const override { return m_widget ? m_widget->window()->windowHandle() : nullptr; }
    int number() const { return m_child; }

    QString text(QAccessible::Text what) const override
    {
        return isValid() && what == QAccessible::Name ? spokenOf(m_widget)->spokenText(part()) : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override
    {
        if (!isValid()) return {};
        const QRect place = spokenOf(m_widget)->spokenPlace(part());
        return place.isEmpty() ? QRect() : QRect(m_widget->mapToGlobal(place.topLeft()), place.size());
    }
    QAccessible::Role role() const override
    {
        return isValid() ? roleOfParts(spokenOf(m_widget)->spokenRole()) : QAccessible::NoRole;
    }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.invalid = !isValid();
        if (state.invalid) return state;
        const bool isCurrent = spokenOf(m_widget)->spokenCurrent() == part();
        state.focusable = state.selectable = true;
        state.selected = isCurrent;
        state.focused = isCurrent && m_widget->hasFocus();
        state.offscreen = spokenOf(m_widget)->spokenPlace(part()).isEmpty();
        return state;
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        if (type != QAccessible::TableCellInterface || !isValid() || columns() == 0) return nullptr;
        return static_cast<QAccessibleTableCellInterface*>(this);
    }

    bool isSelected() const override { return state().selected; }
    QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; } // the text of a cell names both
    QList<QAccessibleInterface*> rowHeaderCells() const override { return {}; }
    int columnIndex() const override { return columns() > 0 ? part() % columns() : 0; }
    int rowIndex() const override { return columns() > 0 ? part() / columns() : 0; }
    int columnExtent() const override { return 1; }
    int rowExtent() const override { return 1; }
    QAccessibleInterface* table() const override { return parent(); }

private:
    int columns() const { return spokenOf(m_widget)->spokenColumns(); }
    /// The part that this child is; -1: it is gone.
    int part() const
    {
        const Spoken& spoken = *spokenOf(m_widget);
        const int parts = spoken.spokenParts();
        if (parts > kMostParts) return m_child == 0 ? spoken.spokenCurrent() : -1;
        return m_child < parts ? m_child : -1;
    }

    QPointer<QWidget> m_widget;
    int m_child;
};

/// Children: the parts, then the widgets inside.
class SpokenWidget : public QAccessibleWidget, public QAccessibleTableInterface {
public:
    explicit SpokenWidget(QWidget* widget) : QAccessibleWidget(widget, spokenOf(widget)->spokenRole()) {}
    ~SpokenWidget() override
    {
        for (const QAccessible::Id id : std::as_const(m_ids)) QAccessible::deleteAccessibleInterface(id);
    }

    QAccessible::Role role() const override { return spoken() ? spoken()->spokenRole() : QAccessible::NoRole; }
    int childCount() const override { return parts() + QAccessibleWidget::childCount(); }
    QAccessibleInterface* child(int index) const override
    {
        return index >= parts() ? QAccessibleWidget::child(index - parts()) : partAt(index);
    }
    int indexOfChild(const QAccessibleInterface* child) const override
    {
        if (const auto* part = dynamic_cast<const SpokenPart*>(child)) return part->number();
        const int index = QAccessibleWidget::indexOfChild(child);
        return index < 0 ? index : parts() + index;
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        if (QAccessibleInterface* inner = QAccessibleWidget::childAt(x, y)) return inner;
        const QPoint at = widget()->mapFromGlobal(QPoint(x, y));
        if (spoken() && spoken()->spokenParts() <= kMostParts)
            for (int i = 0; i < parts(); ++i)
                if (spoken()->spokenPlace(i).contains(at)) return partAt(i);
        return nullptr;
    }
    QAccessibleInterface* focusChild() const override
    {
        const int current = currentChild();
        if (widget()->hasFocus() && current >= 0) return partAt(current);
        return QAccessibleWidget::focusChild();
    }
    QString text(QAccessible::Text what) const override
    {
        if (what != QAccessible::Value || !spoken() || spoken()->spokenCurrent() < 0)
            return QAccessibleWidget::text(what);
        return spoken()->spokenText(spoken()->spokenCurrent());
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        if (type == QAccessible::TableInterface && columnCount() > 0)
            return static_cast<QAccessibleTableInterface*>(this);
        return QAccessibleWidget::interface_cast(type);
    }

    QAccessibleInterface* caption() const override { return nullptr; }
    QAccessibleInterface* summary() const override { return nullptr; }
    QAccessibleInterface* cellAt(int row, int column) const override
    {
        const int index = row * columnCount() + column;
        return row >= 0 && column >= 0 && column < columnCount() && index < parts() ? partAt(index) : nullptr;
    }
    int selectedCellCount() const override { return currentChild() >= 0 ? 1 : 0; }
    QList<QAccessibleInterface*> selectedCells() const override
    {
        QList<QAccessibleInterface*> cells;
        if (currentChild() >= 0) cells << partAt(currentChild());
        return cells;
    }
    QString columnDescription(int column) const override { return headingOf(Qt::Horizontal, column); }
    QString rowDescription(int row) const override { return headingOf(Qt::Vertical, row); }
    int columnCount() const override
    {
        return spoken() && spoken()->spokenParts() <= kMostParts ? spoken()->spokenColumns() : 0;
    }
    int rowCount() const override { return columnCount() > 0 ? parts() / columnCount() : 0; }
    int selectedColumnCount() const override { return 0; } // cells are selected, no rows or columns
    int selectedRowCount() const override { return 0; }
    QList<int> selectedColumns() const override { return {}; }
    QList<int> selectedRows() const override { return {}; }
    bool isColumnSelected(int) const override { return false; }
    bool isRowSelected(int) const override { return false; }
    bool selectRow(int) override { return false; }
    bool selectColumn(int) override { return false; }
    bool unselectRow(int) override { return false; }
    bool unselectColumn(int) override { return false; }
    void modelChange(QAccessibleTableModelChangeEvent*) override {}

private:
    const Spoken* spoken() const { return widget() ? spokenOf(widget()) : nullptr; }
    int parts() const
    {
        if (!spoken()) return 0;
        const int all = spoken()->spokenParts();
        return all <= kMostParts ? all : spoken()->spokenCurrent() >= 0 ? 1 : 0;
    }
    int currentChild() const
    {
        const int current = spoken() ? spoken()->spokenCurrent() : -1;
        return current >= 0 && spoken()->spokenParts() > kMostParts ? 0 : current;
    }
    QString headingOf(Qt::Orientation orientation, int section) const
    {
        return spoken() ? spoken()->spokenHeading(orientation, section) : QString();
    }
    QAccessibleInterface* partAt(int index) const
    {
        if (index < 0 || index >= parts()) return nullptr;
        if (const auto known = m_ids.constFind(index); known != m_ids.constEnd())
            return QAccessible::accessibleInterface(*known);
        auto* made = new SpokenPart(widget(), index);
        m_ids.insert(index, QAccessible::registerAccessibleInterface(made));
        return made;
    }

    mutable QHash<int, QAccessible::Id> m_ids; ///< of the parts that somebody asked for
};

/// A button that stays down. Qt's own interface changes its state only, where a person clicks it: nothing would happen.
class SpokenSwitch : public QAccessibleWidget {
public:
    explicit SpokenSwitch(QAbstractButton* button) : QAccessibleWidget(button) {}

    QAccessible::Role role() const override
    {
        const QButtonGroup* group = button().group();
        const bool isChoice = button().autoExclusive() || (group && group->exclusive());
        return isChoice ? QAccessible::RadioButton : QAccessible::CheckBox;
    }
    QAccessible::State state() const override
    {
        QAccessible::State state = QAccessibleWidget::state();
        state.checkable = true;
        state.checked = button().isChecked();
        return state;
    }
    QString text(QAccessible::Text what) const override
    {
        const QString said = QAccessibleWidget::text(what);
        return said.isEmpty() && what == QAccessible::Name ? button().text().remove(QLatin1Char('&')) : said;
    }
    QStringList actionNames() const override
    {
        return button().isEnabled() ? QStringList(pressAction()) + QAccessibleWidget::actionNames() : QStringList();
    }
    void doAction(const QString& name) override
    {
        if (name == pressAction())
            button().click();
        else
            QAccessibleWidget::doAction(name);
    }

private:
    QAbstractButton& button() const { return *static_cast<QAbstractButton*>(object()); }
};

QAccessibleInterface* spokenFactory(const QString&, QObject* object)
{
    auto* widget = qobject_cast<QWidget*>(object);
    if (widget && spokenOf(widget)) return new SpokenWidget(widget);
    if (qobject_cast<QScrollArea*>(object)) return new QAccessibleWidget(widget, QAccessible::Pane);
    if (qobject_cast<QKeySequenceEdit*>(object)) return new QAccessibleWidget(widget, QAccessible::HotkeyField);
    auto* button = qobject_cast<QAbstractButton*>(object);
    return button && button->isCheckable() ? new SpokenSwitch(button) : nullptr;
}

} // namespace

QString Spoken::spokenText(int) const
{
    return {};
}

QRect Spoken::spokenPlace(int) const
{
    return {};
}

QString Spoken::spokenHeading(Qt::Orientation, int) const
{
    return {};
}

int SpokenTable::spokenCurrent() const
{
    const std::optional<Cell> cell = spokenCurrentCell();
    return cell && spokenColumns() > 0 ? cell->first * spokenColumns() + cell->second : -1;
}

std::optional<SpokenTable::Cell> SpokenTable::cellByKey(int key, std::optional<Cell> from) const
{
    const int right = key == Qt::Key_Right ? 1 : key == Qt::Key_Left ? -1 : 0;
    const int down = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (spokenParts() == 0 || (right == 0 && down == 0)) return std::nullopt;
    if (!from) return Cell{0, 0};
    return Cell{std::clamp(from->first + down, 0, spokenRows() - 1),
                std::clamp(from->second + right, 0, spokenColumns() - 1)};
}

void installSpoken()
{
    QAccessible::installFactory(spokenFactory); // once, however often it is called
}

void tellCurrent(const QWidget& widget)
{
    if (!QAccessible::isActive()) return;
    const Spoken* spoken = spokenOf(&widget);
    const int current = spoken ? spoken->spokenCurrent() : -1;
    if (current < 0) return;
    QAccessibleEvent event(const_cast<QWidget*>(&widget),
                           widget.hasFocus() ? QAccessible::Focus : QAccessible::Selection);
    event.setChild(spoken->spokenParts() > kMostParts ? 0 : current);
    QAccessible::updateAccessibility(&event);
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// What a painted widget is for somebody who cannot see it: its role, and the things that it draws as parts with a text
// and a place, in a list, a tree or a table.
#pragma once

#include <QAccessible>
#include <QRect>
#include <QString>

#include <optional>
#include <utility>

class QWidget;

namespace fourwalls::views {

/// A widget that paints its content derives from this class, too. Screen readers call these functions on the GUI thread.
class Spoken {
public:
    virtual ~Spoken() = default;

    virtual QAccessible::Role spokenRole() const = 0;
    /// How many things are drawn. Their numbers begin at 0; in a table they go through the cells row by row.
    virtual int spokenParts() const { return 0; }
    virtual QString spokenText(int part) const;
    /// In the coordinates of the widget; empty where the part cannot be seen.
    virtual QRect spokenPlace(int part) const;
    /// The part that the keys are at, or that is selected; -1: none.
    virtual int spokenCurrent() const { return -1; }
    /// Columns of a table, if the role is Table; there are as many parts as cells.
    virtual int spokenColumns() const { return 0; }
    virtual QString spokenHeading(Qt::Orientation orientation, int section) const;
    /// Whose content the widget draws, if not its own.
    virtual const Spoken& speaker() const { return *this; }
};

/// A drawing of cells in rows and columns. Cells are pairs of a row and a column.
class SpokenTable : public Spoken {
public:
    using Cell = std::pair<int, int>;

    QAccessible::Role spokenRole() const override { return QAccessible::Table; }
    int spokenParts() const override { return spokenRows() * spokenColumns(); }
    QString spokenText(int part) const override { return spokenCell(cellOf(part)); }
    QRect spokenPlace(int part) const override { return spokenCellPlace(cellOf(part)); }
    int spokenCurrent() const override;

protected:
    virtual int spokenRows() const = 0;
    virtual QString spokenCell(Cell cell) const = 0;
    virtual QRect spokenCellPlace(Cell cell) const = 0;
    virtual std::optional<Cell> spokenCurrentCell() const = 0;

    /// Where an arrow key leads from a cell: the first one from none. Absent: it is no arrow key, or there are no cells.
    std::optional<Cell> cellByKey(int key, std::optional<Cell> from) const;

private:
    Cell cellOf(int part) const { return {part / spokenColumns(), part % spokenColumns()}; }
};

/// Lets screen readers see the parts of all widgets that are Spoken. To be called before the first window is shown.
void installSpoken();

/// Says that another part is the current one. Does nothing while nobody listens.
void tellCurrent(const QWidget& widget);

} // namespace fourwalls::views

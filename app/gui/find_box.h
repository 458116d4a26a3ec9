// SPDX-License-Identifier: GPL-3.0-or-later
// "Find anything": one box that finds slices, layers, steps, ranks, views, settings, commands and files as one types.
#pragma once

#include "app/gui/find_items.h"

#include <QDialog>

#include <functional>
#include <optional>
#include <vector>

class QLineEdit;
class QListWidget;
class QListWidgetItem;

namespace fourwalls::gui {

class TraceFinder;

class FindBox : public QDialog {
    Q_OBJECT
public:
    /// What the program itself offers for a text.
    using Offer = std::function<std::vector<FindItem>(const QString& typed)>;

    /// finder: what the trace offers; outlives the box.
    FindBox(TraceFinder& finder, QWidget* parent = nullptr);
    /// Shows the box below the right end of `anchor`. from: where the trace's next slices are looked for.
    void open(Offer offer, Instant from, QWidget* anchor);
    /// The texts of the items in the list.
    QStringList shown() const;
    /// What Enter would take; absent: nothing.
    std::optional<FindItem> current() const;

signals:
    void chosen(const fourwalls::gui::FindItem& item);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void retranslate();
    void typed();
    /// Fills the list anew; what was marked by hand stays marked.
    void fill();
    std::vector<FindItem> itemsOfTrace(const QString& text) const;
    QListWidgetItem* addRow(const FindRow& row);
    void mark(int row);
    void moveMark(int step);
    void take();

    TraceFinder& m_finder;
    QLineEdit* m_edit;
    QListWidget* m_list;
    Offer m_offer;
    Instant m_from;
    std::vector<FindRow> m_rows;     ///< beside the lines of m_list
    std::vector<FindGroup> m_opened; ///< all of the group is shown
    bool m_moved = false;            ///< the mark was moved by hand
    bool m_taking = false;           ///< Enter came before the answer
};

} // namespace fourwalls::gui

// SPDX-License-Identifier: GPL-3.0-or-later
// What the box "Find anything" offers, and in which order. Pure: no widget, no trace.
#pragma once

#include "model/trace/name_index.h"

#include <QAction>
#include <QString>

#include <memory>
#include <vector>

namespace fourwalls::gui {

/// In the order in which groups that answer equally well stand.
enum class FindGroup : std::uint8_t {
    Names,
    Slices,
    Layers,
    Steps,
    Ranks,
    Tracks,
    Views,
    Tables,
    Commands,
    Settings,
    Files,
    Bookmarks,
    Marking ///< "everything that has this text"
};
inline constexpr int kFindGroupCount = 13;
QString titleOf(FindGroup group);

struct FindItem {
    FindGroup group = FindGroup::Commands;
    QString text;
    QString detail{}; ///< on the right
    QString alias{};  ///< another text that finds it
    QString value{};  ///< the action's object name, the path, the whole name, …
    qint64 id = 0;    ///< the number of a step, rank, layer, track, table or bookmark
    std::shared_ptr<const NamedSlice> slice{};
    MatchQuality quality = MatchQuality::None; ///< how well it answers

    /// Tells it from the others.
    QString key() const { return QString::number(static_cast<int>(group)) + QLatin1Char(':') + value + text; }
};

/// One line of the list: the title of a group, an item, or how many more the group has.
struct FindRow {
    enum class Kind { Title, Item, More };
    Kind kind = Kind::Item;
    FindItem item; ///< of Title and More: its group
    int more = 0;
};

/// The items that answer to `typed`, by group, the group with the best answer first, the best first in each. The groups
/// Names, Slices and Marking answer already, as `quality` says. An empty text shows all items as they come.
/// opened: groups of which everything is shown.
std::vector<FindRow> arrangeFinds(const QString& typed, const std::vector<FindItem>& items,
                                  const std::vector<FindGroup>& opened = {});

/// The numbers that begin with the digits in `typed`, the same number first, at most `limit`; without digits the first
/// ones. None where `typed` has words that are not in `label`, such as "step %1". numbers: rising, not negative.
std::vector<qint64> numbersLike(const QString& typed, const QString& label, const std::vector<qint64>& numbers,
                                std::size_t limit);

/// What an action is called, without the letter to press and the points after it: "Open a trace" of "&Open a trace…",
/// and of "打开轨迹文件(&O)…" what stands before the parenthesis.
QString plainText(const QAction& action);

} // namespace fourwalls::gui

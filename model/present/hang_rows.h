// SPDX-License-Identifier: Apache-2.0
// Who is where: the last operations of each kind of group as columns, ranks as rows, and how far each came. Ranks that came
// equally far are one row, so that thousands of them stay readable.
#pragma once

#include "model/diagnose/hang_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// What a rank did with one operation.
enum class HangCell : std::uint8_t { Finished, Entered, NotEntered, Unknown };

/// The groups of one kind: of the tensor dimension, of the expert dimension. A rank is in one of them.
struct HangColumn {
    std::string kind; ///< the groups' description, or the group's name
    int cells = 1;    ///< how many operations are shown; the last one is the newest that a member entered
    std::optional<std::int64_t> newest; ///< its number, if it is the same in all groups of the kind
};

/// How far a rank came, counted back from the newest operation of its group; absent: not known, or it is in none.
struct HangLag {
    std::optional<std::int64_t> entered, completed;
    friend auto operator<=>(const HangLag&, const HangLag&) = default;
};

enum class HangRowKind : std::uint8_t { Usual, Named, InSet, Missing, Unreadable };

struct HangRow {
    std::vector<int> ranks; ///< ascending
    HangRowKind kind = HangRowKind::Usual;
    std::vector<HangLag> lags; ///< by column

    /// cell: from 0 (oldest) in that column.
    HangCell cell(const HangColumn& column, std::size_t index, int cell) const;
};

struct HangRows {
    std::vector<HangColumn> columns; ///< that with the named ranks first, then what differs most
    std::vector<HangRow> rows;       ///< folded: what is named first, then by the first rank
    int agreeing = 0;                ///< kinds of groups in which all members came equally far; they have no column
};

/// folded: ranks that are not named and came equally far in every column become one row.
HangRows hangRows(const diagnose::HangReport& report, bool folded);

} // namespace fourwalls

// SPDX-License-Identifier: GPL-3.0-or-later
// See find_items.h.
#include "app/gui/find_items.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <algorithm>
#include <array>

namespace fourwalls::gui {

namespace {

struct FindWords {
    Q_DECLARE_TR_FUNCTIONS(FindItems)
};

/// Of a group, until it is opened.
constexpr std::size_t kShownOfGroup = 6;

/// Commands are known by a few letters; everything else is named.
bool isLoose(FindGroup group)
{
    return group == FindGroup::Commands || group == FindGroup::Settings || group == FindGroup::Views;
}

bool answersAlready(FindGroup group)
{
    return group == FindGroup::Names || group == FindGroup::Slices || group == FindGroup::Marking;
}

MatchQuality qualityIn(const SearchWords& words, const FindItem& item)
{
    if (answersAlready(item.group)) return item.quality;
    const std::string text = item.text.toStdString(), alias = item.alias.toStdString();
    if (isLoose(item.group)) return std::max(words.looseQualityOf(text), words.qualityOf(alias));
    const MatchQuality own = words.qualityOf(text);
    // What is found by its other text is no better than a part of a word.
    return std::max(own, alias.empty() ? MatchQuality::None : std::min(words.qualityOf(alias), MatchQuality::Inside));
}

} // namespace

QString titleOf(FindGroup group)
{
    switch (group) {
    case FindGroup::Names: return FindWords::tr("Names");
    case FindGroup::Slices: return FindWords::tr("Next slices");
    case FindGroup::Layers: return FindWords::tr("Layers");
    case FindGroup::Steps: return FindWords::tr("Steps");
    case FindGroup::Ranks: return FindWords::tr("Ranks");
    case FindGroup::Tracks: return FindWords::tr("Tracks");
    case FindGroup::Views: return FindWords::tr("Views");
    case FindGroup::Tables: return FindWords::tr("Tables");
    case FindGroup::Commands: return FindWords::tr("Commands");
    case FindGroup::Settings: return FindWords::tr("Settings");
    case FindGroup::Files: return FindWords::tr("Files");
    case FindGroup::Bookmarks: return FindWords::tr("Bookmarks");
    case FindGroup::Marking: return FindWords::tr("Timeline");
    }
    return {};
}

std::vector<FindRow> arrangeFinds(const QString& typed, const std::vector<FindItem>& items,
                                  const std::vector<FindGroup>& opened)
{
    const SearchWords words(typed.toStdString());
    std::array<std::vector<FindItem>, kFindGroupCount> groups;
    std::array<MatchQuality, kFindGroupCount> best{};
    for (const FindItem& item : items) {
        const MatchQuality quality = words.empty() ? MatchQuality::Words : qualityIn(words, item);
        if (quality == MatchQuality::None) continue;
        const auto group = static_cast<std::size_t>(item.group);
        groups[group].push_back(item);
        groups[group].back().quality = quality;
        best[group] = std::max(best[group], quality);
    }
    // Slices belong to the names above them, and what marks everything comes last.
    best[static_cast<std::size_t>(FindGroup::Slices)] = best[static_cast<std::size_t>(FindGroup::Names)];
    best[static_cast<std::size_t>(FindGroup::Marking)] = MatchQuality::None;
    std::vector<std::size_t> order;
    for (std::size_t group = 0; group < groups.size(); ++group)
        if (!groups[group].empty()) order.push_back(group);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return best[a] > best[b]; });

    std::vector<FindRow> rows;
    for (const std::size_t index : order) {
        std::vector<FindItem>& group = groups[index];
        const auto kind = static_cast<FindGroup>(index);
        if (!words.empty() && !answersAlready(kind))
            std::stable_sort(group.begin(), group.end(),
                             [](const FindItem& a, const FindItem& b) { return a.quality > b.quality; });
        FindItem title{kind, titleOf(kind)};
        rows.push_back({FindRow::Kind::Title, title, 0});
        const bool whole = words.empty() || std::find(opened.begin(), opened.end(), kind) != opened.end();
        const std::size_t shown = whole || group.size() <= kShownOfGroup + 1 ? group.size() : kShownOfGroup;
        for (std::size_t i = 0; i < shown; ++i) rows.push_back({FindRow::Kind::Item, std::move(group[i]), 0});
        if (shown < group.size())
            rows.push_back({FindRow::Kind::More, std::move(title), static_cast<int>(group.size() - shown)});
    }
    return rows;
}

std::vector<qint64> numbersLike(const QString& typed, const QString& label, const std::vector<qint64>& numbers,
                                std::size_t limit)
{
    static const QRegularExpression digits(QStringLiteral("[0-9]+"));
    const QString wanted = digits.match(typed).captured();
    const QStringList rest = QString(typed).remove(digits).split(QLatin1Char(' '), Qt::SkipEmptyParts);
    if (!std::all_of(rest.begin(), rest.end(),
                     [&](const QString& part) { return label.contains(part, Qt::CaseInsensitive); }))
        return {};
    std::vector<qint64> like;
    if (wanted.isEmpty()) {
        like.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(std::min(limit, numbers.size())));
        return like;
    }
    bool ok = false;
    const qint64 exact = wanted.toLongLong(&ok);
    if (!ok) return {};
    if (std::binary_search(numbers.begin(), numbers.end(), exact)) like.push_back(exact);
    for (const qint64 number : numbers) {
        if (like.size() >= limit) break;
        qint64 beginning = number; // shortened to as many digits
        while (beginning > exact) beginning /= 10;
        if (beginning == exact && number != exact && exact > 0) like.push_back(number);
    }
    return like;
}

QString plainText(const QAction& action)
{
    static const QRegularExpression letter(QStringLiteral("\\(&.\\)|&|\u2026"));
    return action.text().remove(letter);
}

} // namespace fourwalls::gui

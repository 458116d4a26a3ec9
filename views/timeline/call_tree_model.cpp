// SPDX-License-Identifier: GPL-3.0-or-later
// See call_tree_model.h.
#include "views/timeline/call_tree_model.h"

#include "model/trace/short_name.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr double kWholePercentsOfTree = 0.0995; ///< from here on without a decimal
}

QString callText(const CallNode& node, bool isShort)
{
    const QString name = QString::fromStdString(isShort ? shortName(node.name) : node.name);
    return node.phase == Phase::None ? name : name + QStringLiteral(" \u00b7 ") + words(node.phase);
}

void CallTreeModel::setTree(std::shared_ptr<const CallTree> tree)
{
    beginResetModel();
    m_tree = std::move(tree);
    m_children.assign(m_tree ? m_tree->nodes.size() : 1, {});
    m_rows.assign(m_children.size(), 0);
    if (m_tree) {
        const std::vector<CallNode>& nodes = m_tree->nodes;
        for (std::uint32_t i = 1; i < nodes.size(); ++i) m_children[nodes[i].parent].push_back(i);
        for (std::vector<std::uint32_t>& children : m_children) {
            std::stable_sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
                return nodes[a].total + nodes[a].deviceTotal > nodes[b].total + nodes[b].deviceTotal;
            });
            for (std::size_t row = 0; row < children.size(); ++row) m_rows[children[row]] = static_cast<int>(row);
        }
    }
    endResetModel();
}

const std::vector<std::uint32_t>& CallTreeModel::childrenOf(const QModelIndex& parent) const
{
    static const std::vector<std::uint32_t> kNone;
    const std::size_t node = parent.isValid() ? nodeOf(parent) : 0;
    return m_tree && node < m_children.size() ? m_children[node] : kNone;
}

QModelIndex CallTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    const std::vector<std::uint32_t>& children = childrenOf(parent);
    if (row < 0 || static_cast<std::size_t>(row) >= children.size() || column < 0 || column >= ColumnCount ||
        (parent.isValid() && parent.column() != 0))
        return {};
    return createIndex(row, column, static_cast<quintptr>(children[static_cast<std::size_t>(row)]));
}

QModelIndex CallTreeModel::parent(const QModelIndex& index) const
{
    if (!index.isValid() || !m_tree) return {};
    const std::uint32_t parent = m_tree->nodes[nodeOf(index)].parent;
    return parent == 0 ? QModelIndex() : createIndex(m_rows[parent], 0, static_cast<quintptr>(parent));
}

int CallTreeModel::rowCount(const QModelIndex& parent) const
{
    if (parent.isValid() && parent.column() != 0) return 0;
    return static_cast<int>(childrenOf(parent).size());
}

int CallTreeModel::columnCount(const QModelIndex&) const
{
    return ColumnCount;
}

QVariant CallTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || !m_tree) return {};
    const CallNode& node = m_tree->nodes[nodeOf(index)];
    const auto all = static_cast<double>((m_tree->nodes[0].total + m_tree->nodes[0].deviceTotal).ns);
    const double share = all > 0 ? static_cast<double>((node.total + node.deviceTotal).ns) / all : 0;
    const auto written = [&](Duration duration) {
        return duration.ns == 0 ? QString(kDash) : formatDuration(duration, 3);
    };
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case Name: return callText(node, true);
        case Total: return written(node.total);
        case Share: return formatPercent(share, share < kWholePercentsOfTree ? 1 : 0);
        case Self: return written(node.self);
        case Device: return written(node.deviceTotal);
        case DeviceSelf: return written(node.deviceSelf);
        case Count: return formatCount(node.count);
        default: return {};
        }
    case Qt::ToolTipRole: return index.column() == Name ? QVariant(callText(node, false)) : QVariant();
    case Qt::TextAlignmentRole:
        return index.column() == Name ? QVariant()
                                      : QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    case kShareRole: return index.column() == Share ? QVariant(share) : QVariant();
    case kColourRole: return index.column() == Share ? QVariant(currentTheme().otherCompute) : QVariant();
    default: return {};
    }
}

QVariant CallTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((section == Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    if (role == Qt::ToolTipRole) {
        switch (section) {
        case Share: return tr("Host and device time, as a share of all");
        case Device: return tr("Work of the device that was launched from here");
        case DeviceSelf: return tr("Work of the device that was launched by this itself");
        default: return {};
        }
    }
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("name");
    case Total: return tr("host");
    case Share: return tr("share");
    case Self: return tr("self");
    case Device: return tr("device");
    case DeviceSelf: return tr("launched here");
    case Count: return tr("count");
    default: return {};
    }
}

void CallTreeModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
}

QString CallTreeModel::tsv() const
{
    QString text = QStringLiteral("depth\tname\tphase\tcount\ttotal_ns\tself_ns\tdevice_ns\tdevice_self_ns\n");
    if (!m_tree) return text;
    std::vector<std::pair<std::uint32_t, int>> open{{0, -1}};
    while (!open.empty()) {
        const auto [index, depth] = open.back();
        open.pop_back();
        const std::vector<std::uint32_t>& below = m_children[index];
        for (auto child = below.rbegin(); child != below.rend(); ++child) open.emplace_back(*child, depth + 1);
        if (index == 0) continue;
        const CallNode& node = m_tree->nodes[index];
        QString name = QString::fromStdString(node.name);
        name.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
        text += QStringLiteral("%1\t%2\t%3\t%4\t%5\t%6\t%7\t%8\n")
                    .arg(depth)
                    .arg(name, node.phase == Phase::None ? QString() : words(node.phase))
                    .arg(node.count)
                    .arg(node.total.ns)
                    .arg(node.self.ns)
                    .arg(node.deviceTotal.ns)
                    .arg(node.deviceSelf.ns);
    }
    return text;
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// See find_box.h.
#include "app/gui/find_box.h"

#include "app/gui/trace_finder.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::gui {

namespace {

constexpr int kDetailRole = Qt::UserRole + 1, kKindRole = Qt::UserRole + 2;
constexpr int kBoxWidth = 640, kBoxHeight = 520;
constexpr int kTitleHeight = 26, kItemHeight = 28;
const QString kDot = QStringLiteral(" \u00b7 ");

FindRow::Kind kindOf(const QModelIndex& index)
{
    return static_cast<FindRow::Kind>(index.data(kKindRole).toInt());
}

/// The item on the left, what tells it from others or its keys on the right; titles of groups small above them.
class FindDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override
    {
        return {200, kindOf(index) == FindRow::Kind::Title ? kTitleHeight : kItemHeight};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const views::Theme& theme = views::currentTheme();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing, true);
        const QRect room = option.rect.adjusted(12, 0, -12, 0);
        if (kindOf(index) == FindRow::Kind::Title) {
            painter->setFont(views::fontOf(views::TextRole::Small));
            painter->setPen(theme.secondaryText);
            painter->drawText(room.adjusted(0, 6, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, index.data().toString());
            painter->restore();
            return;
        }
        if (option.state & QStyle::State_Selected) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.raised);
            painter->drawRoundedRect(option.rect.adjusted(2, 1, -2, -1), 5, 5);
            painter->setBrush(theme.accent);
            painter->drawRoundedRect(QRect(option.rect.left() + 3, option.rect.top() + 6, 3, option.rect.height() - 12),
                                     1.5, 1.5);
        }
        painter->setFont(views::fontOf(views::TextRole::Body));
        const QFontMetrics body = painter->fontMetrics();
        const QString text = index.data().toString();
        painter->setFont(views::fontOf(views::TextRole::Small));
        const QFontMetrics small = painter->fontMetrics();
        // The name comes first; the rest has what it leaves, and at least two fifths.
        const int least = room.width() * 2 / 5;
        const int left = std::max(least, room.width() - body.horizontalAdvance(text) - 16);
        const QString detail = small.elidedText(index.data(kDetailRole).toString(), Qt::ElideMiddle, left);
        painter->setPen(theme.secondaryText);
        painter->drawText(room, Qt::AlignVCenter | Qt::AlignRight, detail);
        const int rest = room.width() - (detail.isEmpty() ? 0 : small.horizontalAdvance(detail) + 16);
        painter->setFont(views::fontOf(views::TextRole::Body));
        painter->setPen(kindOf(index) == FindRow::Kind::More ? theme.accent : theme.text);
        painter->drawText(room, Qt::AlignVCenter | Qt::AlignLeft, body.elidedText(text, Qt::ElideMiddle, rest));
        painter->restore();
    }
};

/// Where and when a slice is, and how long.
QString sliceDetail(const SliceView& slice, const views::TraceSession* session)
{
    QStringList facts;
    const auto track = static_cast<std::size_t>(slice.track.value);
    if (session && slice.track.value >= 0 && track < session->tracks().size()) {
        const TrackInfo& info = session->tracks()[track].info;
        facts << FindBox::tr("rank %1").arg(info.rank.value) << views::trackName(info);
        facts << FindBox::tr("at %1").arg(views::formatDuration(slice.start - session->info().range.begin));
    }
    facts << views::formatDuration(slice.duration);
    return facts.join(kDot);
}

QString oneLine(const std::string& name)
{
    return QString::fromStdString(name).simplified();
}

FindItem itemOf(const NameHit& hit)
{
    const OpInfo& op = *hit.name.op;
    FindItem item{FindGroup::Names, views::opName(op).simplified()};
    item.value = QString::fromStdString(hit.name.name);
    item.detail = views::words(op.kind);
    item.quality = hit.quality;
    return item;
}

} // namespace

FindBox::FindBox(TraceFinder& finder, QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint)
    , m_finder(finder)
    , m_edit(new QLineEdit(this))
    , m_list(new QListWidget(this))
{
    setObjectName(QStringLiteral("palette")); // the style sheet gives it a border
    m_edit->installEventFilter(this);
    m_list->setItemDelegate(new FindDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setFocusProxy(m_edit); // the arrow keys move the mark while one types
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    retranslate();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(6);
    layout->addWidget(m_edit);
    layout->addWidget(m_list);
    connect(m_edit, &QLineEdit::textChanged, this, &FindBox::typed);
    connect(m_edit, &QLineEdit::returnPressed, this, &FindBox::take);
    connect(m_list, &QListWidget::itemClicked, this, [this](QListWidgetItem* item) {
        m_moved = true; // what was pointed at is meant, whatever comes later
        mark(m_list->row(item));
        take();
    });
    connect(&m_finder, &TraceFinder::contentsRead, this, [this] {
        if (isVisible()) fill();
    });
    connect(&m_finder, &TraceFinder::found, this, [this] {
        if (!isVisible()) return;
        fill();
        if (m_taking) take();
    });
}

void FindBox::retranslate()
{
    setAccessibleName(tr("Find anything"));
    m_edit->setPlaceholderText(tr("A slice, layer, step, rank, view, setting, command or file"));
    m_edit->setAccessibleName(tr("Find anything"));
    m_list->setAccessibleName(tr("What was found"));
}

void FindBox::changeEvent(QEvent* event)
{
    QDialog::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

void FindBox::hideEvent(QHideEvent* event)
{
    QDialog::hideEvent(event);
    m_finder.ask({}, {}); // nobody waits for it
    m_taking = false;
}

void FindBox::open(Offer offer, Instant from, QWidget* anchor)
{
    m_offer = std::move(offer);
    m_from = from;
    m_finder.readContents();
    m_edit->clear();
    typed();
    const QRect window = anchor->window()->geometry();
    const QPoint corner = anchor->mapToGlobal(QPoint(anchor->width(), anchor->height() + 4));
    resize(std::min(kBoxWidth, window.width() - 24), std::min(kBoxHeight, window.bottom() - corner.y() - 12));
    move(corner.x() - width(), corner.y());
    show();
    m_edit->setFocus();
}

QStringList FindBox::shown() const
{
    QStringList texts;
    for (const FindRow& row : m_rows)
        if (row.kind == FindRow::Kind::Item) texts.append(row.item.text);
    return texts;
}

std::optional<FindItem> FindBox::current() const
{
    const int row = m_list->currentRow();
    if (row < 0 || m_rows[static_cast<std::size_t>(row)].kind != FindRow::Kind::Item) return std::nullopt;
    return m_rows[static_cast<std::size_t>(row)].item;
}

void FindBox::typed()
{
    m_moved = m_taking = false;
    m_opened.clear();
    m_finder.ask(m_edit->text(), m_from);
    fill();
}

std::vector<FindItem> FindBox::itemsOfTrace(const QString& text) const
{
    std::vector<FindItem> items;
    if (text.isEmpty()) return items;
    for (const NameHit& hit : m_finder.names().best) items.push_back(itemOf(hit));
    for (const NamedSlice& slice : m_finder.slices()) {
        FindItem item{FindGroup::Slices, views::opName(*slice.op).simplified()};
        item.detail = sliceDetail(slice.slice, m_finder.session());
        item.slice = std::make_shared<const NamedSlice>(slice);
        item.value = QString::number(slice.slice.id.value);
        item.quality = MatchQuality::Inside;
        items.push_back(std::move(item));
    }
    if (!m_finder.contents()) return items;
    std::vector<qint64> numbers;
    for (const IndexedLayer& layer : m_finder.contents()->names.layers()) numbers.push_back(layer.layer.value);
    constexpr std::size_t kMostNumbers = 60;
    for (const qint64 number : numbersLike(text, tr("layer %1"), numbers, kMostNumbers)) {
        const auto& layers = m_finder.contents()->names.layers();
        const auto at = std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin();
        FindItem item{FindGroup::Layers, tr("layer %1").arg(number)};
        item.value = QString::fromStdString(layers[static_cast<std::size_t>(at)].name);
        item.detail = oneLine(layers[static_cast<std::size_t>(at)].name);
        item.id = number;
        items.push_back(std::move(item));
    }
    numbers.clear();
    const std::vector<JobStep>& steps = m_finder.contents()->steps;
    for (const JobStep& step : steps) numbers.push_back(step.step.value);
    for (const qint64 number : numbersLike(text, tr("step %1"), numbers, kMostNumbers)) {
        const auto at = std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin();
        const JobStep& step = steps[static_cast<std::size_t>(at)];
        FindItem item{FindGroup::Steps, tr("step %1").arg(number)};
        item.detail = views::formatDuration(step.range.length()) + views::stepStateNote(step.state);
        item.id = number;
        items.push_back(std::move(item));
    }
    FindItem marking{FindGroup::Marking, tr("Mark everything with “%1” on the timeline").arg(text)};
    marking.value = text;
    marking.quality = MatchQuality::Letters;
    items.push_back(std::move(marking));
    return items;
}

QListWidgetItem* FindBox::addRow(const FindRow& row)
{
    const bool isMore = row.kind == FindRow::Kind::More;
    auto* line = new QListWidgetItem(isMore ? tr("%n more", nullptr, row.more) : row.item.text, m_list);
    line->setData(kKindRole, static_cast<int>(row.kind));
    line->setData(kDetailRole, isMore ? QString() : row.item.detail);
    if (row.kind == FindRow::Kind::Title) {
        line->setFlags(Qt::NoItemFlags);
    } else if (row.kind == FindRow::Kind::Item) {
        const QString whole = row.item.group == FindGroup::Names ? row.item.value.simplified() : row.item.text;
        line->setToolTip(row.item.detail.isEmpty() ? whole : whole + QLatin1Char('\n') + row.item.detail);
        line->setData(Qt::AccessibleTextRole, titleOf(row.item.group) + QStringLiteral(": ") + row.item.text +
                                                  (row.item.detail.isEmpty() ? QString() : kDot + row.item.detail));
    }
    return line;
}

void FindBox::fill()
{
    const std::optional<FindItem> before = current();
    const QString text = m_edit->text().trimmed();
    std::vector<FindItem> items = itemsOfTrace(text);
    if (m_offer) {
        std::vector<FindItem> own = m_offer(text);
        items.insert(items.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    }
    m_rows = arrangeFinds(text, items, m_opened);
    m_list->clear();
    int first = -1, same = -1;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        addRow(m_rows[i]);
        if (m_rows[i].kind != FindRow::Kind::Item) continue;
        if (first < 0) first = static_cast<int>(i);
        if (before && m_rows[i].item.key() == before->key()) same = static_cast<int>(i);
    }
    mark(m_moved && same >= 0 ? same : first);
}

void FindBox::mark(int row)
{
    m_list->setCurrentRow(row);
    // The title of the first group stays in view above its first item.
    if (row == 1) m_list->scrollToTop();
    const QListWidgetItem* line = m_list->currentItem();
    m_edit->setAccessibleDescription(line ? line->data(Qt::AccessibleTextRole).toString() : QString());
}

void FindBox::moveMark(int step)
{
    const int count = static_cast<int>(m_rows.size()), direction = step < 0 ? -1 : 1;
    int row = std::clamp(m_list->currentRow() + step, 0, std::max(0, count - 1));
    const auto isTitle = [&](int at) { return m_rows[static_cast<std::size_t>(at)].kind == FindRow::Kind::Title; };
    while (row >= 0 && row < count && isTitle(row)) row += direction;
    if (row < 0) row = m_list->currentRow();
    if (row >= 0 && row < count) mark(row);
    m_moved = true;
    m_taking = false;
}

void FindBox::take()
{
    // What is first now may not be when the names have come.
    if (m_finder.isLooking() && !m_moved) {
        m_taking = true;
        return;
    }
    m_taking = false;
    const int row = m_list->currentRow();
    if (row < 0) return;
    const FindRow taken = m_rows[static_cast<std::size_t>(row)];
    if (taken.kind == FindRow::Kind::Title) return;
    if (taken.kind == FindRow::Kind::More) {
        m_opened.push_back(taken.item.group);
        fill();
        m_moved = true;
        return mark(std::min(row, static_cast<int>(m_rows.size()) - 1)); // the first that was not shown
    }
    hide();
    emit chosen(taken.item);
}

bool FindBox::eventFilter(QObject* object, QEvent* event)
{
    if (object == m_edit && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? 10
                         : key == Qt::Key_PageUp   ? -10
                                                   : 0;
        if (step != 0 && !m_rows.empty()) {
            moveMark(step);
            return true;
        }
    }
    return QDialog::eventFilter(object, event);
}

} // namespace fourwalls::gui

// SPDX-License-Identifier: GPL-3.0-or-later
// The header of the window.
#include "views/chrome/header_bar.h"

#include "views/chrome/chip.h"
#include "views/chrome/icon.h"
#include "views/chrome/trace_tabs.h"
#include "views/words/plan_words.h"
#include "views/words/words.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QToolButton>

namespace fourwalls::views {

namespace {

/// A button that looks like a text box: it opens the box that finds anything.
class SearchBox : public QPushButton {
public:
    using QPushButton::QPushButton;
    QSize sizeHint() const override { return {268, 28}; }
    QSize minimumSizeHint() const override { return {150, 28}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setPen(QPen(hasFocus() || underMouse() ? theme.accent : theme.line, 1));
        painter.setBrush(theme.card);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
        painter.drawPixmap(9, (height() - 16) / 2,
                           iconPixmap(QStringLiteral("search"), theme.secondaryText, 16, devicePixelRatioF()));
        painter.setPen(theme.secondaryText);
        painter.setFont(fontOf(TextRole::Small));
        const QString keys = QStringLiteral("Ctrl+K");
        const int keysWidth = painter.fontMetrics().horizontalAdvance(keys);
        painter.drawText(QRect(width() - keysWidth - 10, 0, keysWidth, height()), Qt::AlignVCenter, keys);
        const QRect room(31, 0, width() - keysWidth - 50, height());
        painter.drawText(room, Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(text(), Qt::ElideRight, room.width()));
    }
};

} // namespace

QString planWords(const TraceInfo& info)
{
    if (!info.header.spec) return {};
    const ParallelPlan& plan = info.header.spec->plan;
    if (plan == ParallelPlan{}) return HeaderBar::tr("one device");
    QStringList parts;
    const auto add = [&](const char* key, int value, bool always) {
        if (always || value > 1) parts.append(QStringLiteral("%1 %2").arg(QLatin1String(key)).arg(value));
    };
    add("dp", plan.dp, true);
    add("tp", plan.tp, true);
    add("pp", plan.pp, true);
    add("cp", plan.cp, false);
    add("ep", plan.ep, false);
    if (plan.zero > 0) parts.append(QStringLiteral("ZeRO %1").arg(plan.zero));
    if (plan.pp > 1) parts.append(words(plan.schedule, plan.vpp));
    add("m", plan.microbatches, plan.pp > 1);
    return parts.join(QStringLiteral(" %1 ").arg(QChar(0x00b7)));
}

QString deviceWords(const TraceInfo& info)
{
    const std::vector<RankInfo>& ranks = info.header.ranks;
    if (ranks.empty()) return {};
    qint64 devices = 0;
    bool same = true;
    for (const RankInfo& rank : ranks) {
        devices += rank.multiplicity;
        same = same && rank.device == ranks.front().device;
    }
    const QString name = same ? QString::fromStdString(ranks.front().device) : HeaderBar::tr("mixed devices");
    // Some formats only number their devices: "2 x device 0" would name none of them.
    static const QRegularExpression kNumbered(QStringLiteral("^device \\d+$"));
    if (name.isEmpty() || kNumbered.match(name).hasMatch()) return {};
    const QString text = QStringLiteral("%1 %2 %3").arg(QString::number(devices), QChar(0x00d7), name);
    // A file of one rank looks like a job of one.
    const RankScope scope = rankScope(info);
    return scope.isPart() ? text + QStringLiteral(" · ") + words(scope) : text;
}

HeaderBar::HeaderBar(QWidget* parent)
    : QWidget(parent)
    , m_product(new QToolButton(this))
    , m_tabs(new TraceTabs(this))
    , m_clock(new Chip(this))
    , m_device(new Chip(this))
    , m_plan(new Chip(this))
    , m_whatIf(new QToolButton(this))
    , m_search(new SearchBox(this))
{
    setFixedHeight(44);
    m_product->setObjectName(QStringLiteral("product")); // the style sheet draws it without a frame
    m_product->setText(QStringLiteral("Fourwalls"));
    m_product->setFont(fontOf(TextRole::Title));
    m_product->setPopupMode(QToolButton::InstantPopup);
    m_product->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_product->setFocusPolicy(Qt::TabFocus);

    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(6, 0, 12, 1);
    layout->setSpacing(8);
    layout->addWidget(m_product);
    layout->addWidget(m_tabs);
    layout->addWidget(m_clock);
    layout->addWidget(m_device);
    layout->addWidget(m_plan);
    layout->addStretch(1);
    layout->addWidget(m_whatIf);
    layout->addWidget(m_search);
    m_whatIf->setObjectName(QStringLiteral("whatif"));
    m_whatIf->setCheckable(true);
    m_whatIf->setFont(fontOf(TextRole::Small));
    m_whatIf->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_whatIf->setIconSize({16, 16});
    m_whatIf->setFixedHeight(28);
    connect(m_whatIf, &QToolButton::clicked, this, &HeaderBar::whatIfToggled);
    m_search->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    connect(m_search, &QPushButton::clicked, this, &HeaderBar::findRequested);
    setTrace(nullptr);
    retranslate();
}

void HeaderBar::setMenu(QMenu* menu)
{
    m_product->setMenu(menu);
}

QWidget* HeaderBar::searchBox() const
{
    return m_search;
}

void HeaderBar::retranslate()
{
    m_search->setText(tr("Find anything"));
    m_search->setAccessibleName(tr("Find anything"));
    m_search->setToolTip(tr("Find anything") + QStringLiteral(" (Ctrl+K)"));
    m_product->setAccessibleName(tr("Main menu"));
    m_product->setToolTip(tr("Main menu (F10)"));
    m_whatIf->setText(tr("What if"));
    m_whatIf->setToolTip(tr("Sliders that predict this run under another plan"));
}

void HeaderBar::setWhatIf(bool enabled, bool shown)
{
    m_whatIf->setEnabled(enabled);
    m_whatIf->setChecked(shown);
    const QColor ink = shown ? currentTheme().accent : currentTheme().secondaryText;
    m_whatIf->setIcon(QIcon(iconPixmap(QStringLiteral("whatif"), ink, 16, devicePixelRatioF())));
}

void HeaderBar::setTrace(const TraceInfo* info)
{
    m_hasTrace = info != nullptr;
    if (info) {
        m_clock->setChip(words(info->header.clock), ChipKind::Neutral,
                         tr("compute: %1, communication: %2")
                             .arg(QString::fromStdString(info->header.computeLabel),
                                  QString::fromStdString(info->header.communicationLabel)));
        m_device->setChip(deviceWords(*info), ChipKind::Neutral, tr("The devices of this run"));
        m_plan->setChip(planWords(*info), ChipKind::Neutral, tr("The parallel plan of this run"));
    } else {
        for (Chip* chip : {m_clock, m_device, m_plan}) chip->setChip({});
    }
    arrangeChips();
}

void HeaderBar::arrangeChips()
{
    // Chips give way to the tabs and the search box, the last one first.
    int room = width() - m_product->sizeHint().width() - m_tabs->sizeHint().width() - m_search->sizeHint().width() -
               m_whatIf->sizeHint().width() - 68;
    for (Chip* chip : {m_clock, m_device, m_plan}) {
        const int needed = chip->sizeHint().width() + 8;
        const bool shown = m_hasTrace && !chip->text().isEmpty() && needed <= room;
        chip->setVisible(shown);
        if (shown) room -= needed;
    }
}

void HeaderBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrangeChips();
}

bool HeaderBar::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) arrangeChips();
    return QWidget::event(event);
}

void HeaderBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().chrome);
    painter.fillRect(QRect(0, height() - 1, width(), 1), currentTheme().line);
}

} // namespace fourwalls::views

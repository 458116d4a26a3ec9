// SPDX-License-Identifier: GPL-3.0-or-later
// The first page of the window. Its parts are few and change rarely, so it is rebuilt whole.
#include "views/chrome/welcome_page.h"

#include "views/chrome/icon.h"
#include "views/chrome/scrolled_page.h"
#include "views/plot/theme.h"

#include <QAbstractButton>
#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kPageMargin = 24; ///< around the page [pixels]

/// A button with an icon, a title and a line of explanation.
class EntryButton : public QAbstractButton {
public:
    EntryButton(const QString& icon, const QString& title, const QString& detail, bool framed, QWidget* parent)
        : QAbstractButton(parent)
        , m_icon(icon)
        , m_detail(detail)
        , m_framed(framed)
    {
        setText(title);
        setAccessibleName(title);
        setAccessibleDescription(detail);
        setToolTip(framed ? QString() : detail);
        setCursor(Qt::PointingHandCursor);
        setAttribute(Qt::WA_Hover);
        setFocusPolicy(Qt::StrongFocus);
        // The framed ones' texts wrap: a fixed height would be that of the hint whatever the layout gives.
        QSizePolicy policy(QSizePolicy::Expanding, framed ? QSizePolicy::Minimum : QSizePolicy::Fixed);
        policy.setHeightForWidth(framed);
        setSizePolicy(policy);
    }

    QSize sizeHint() const override { return {300, m_framed ? kFramedHeight : 50}; }
    /// Of a framed one as wide as its longest word; the others' texts are shortened.
    QSize minimumSizeHint() const override
    {
        if (!m_framed) return {0, sizeHint().height()};
        const int widest = std::max(widestPiece(text(), TextRole::Title), widestPiece(m_detail, TextRole::Small));
        return {widest + left() + 50, kFramedHeight};
    }
    int heightForWidth(int width) const override
    {
        const int room = roomIn(width).width();
        return std::max(kFramedHeight, heightOf(text(), TextRole::Title, room) +
                                           heightOf(m_detail, TextRole::Small, room) + 2 * kFrameMargin);
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing, true);
        const bool active = underMouse() || hasFocus();
        if (m_framed || active) {
            painter.setPen(m_framed || hasFocus() ? QPen(active ? theme.accent : theme.line, 1) : QPen(Qt::NoPen));
            painter.setBrush(m_framed ? theme.card : theme.raised);
            painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
        }
        painter.drawPixmap(QPointF(left(), (height() - 24) / 2.0),
                           iconPixmap(m_icon, m_framed ? theme.accent : theme.secondaryText, 24, devicePixelRatioF()));
        const QRect room = roomIn(width());
        const int title = m_framed ? heightOf(text(), TextRole::Title, room.width()) : 20,
                  detail = m_framed ? heightOf(m_detail, TextRole::Small, room.width()) : 18;
        const int top = (height() - title - detail) / 2 - 1;
        const auto draw = [&](const QString& words, TextRole role, const QColor& colour, int from, int tall) {
            painter.setFont(fontOf(role));
            painter.setPen(colour);
            const QRect place(room.left(), from, room.width(), tall);
            if (m_framed)
                painter.drawText(place, Qt::AlignTop | Qt::TextWordWrap, words);
            else
                painter.drawText(place, Qt::AlignVCenter,
                                 painter.fontMetrics().elidedText(words, Qt::ElideMiddle, room.width()));
        };
        draw(text(), m_framed ? TextRole::Title : TextRole::Body, theme.text, top, title);
        draw(m_detail, TextRole::Small, theme.secondaryText, top + title + 2, detail);
    }

private:
    static constexpr int kFramedHeight = 72, kFrameMargin = 12;

    int left() const { return m_framed ? 16 : 10; }
    QRect roomIn(int width) const { return {left() + 38, 0, std::max(1, width - left() - 50), height()}; }
    /// As high as it is in the font that has its letters.
    static int heightOf(const QString& words, TextRole role, int width)
    {
        return QFontMetrics(fontOf(role))
            .boundingRect(QRect(0, 0, width, QWIDGETSIZE_MAX), Qt::AlignTop | Qt::TextWordWrap, words)
            .height();
    }

    QString m_icon, m_detail;
    bool m_framed;
};

QLabel* heading(const QString& text, TextRole role, int pixels, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    QFont font = fontOf(role);
    if (pixels > 0) font.setPixelSize(pixels);
    label->setFont(font);
    label->setWordWrap(true);
    return label;
}

} // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent), m_outer(new QVBoxLayout(this))
{
    m_outer->setContentsMargins(0, 0, 0, 0);
    rebuild();
}

void WelcomePage::setRecentFiles(const QStringList& paths)
{
    m_recent = paths;
    rebuild();
}

void WelcomePage::setSamples(const QList<SampleEntry>& samples)
{
    m_samples = samples;
    rebuild();
}

void WelcomePage::retranslate()
{
    rebuild();
}

void WelcomePage::rebuild()
{
    if (m_scrolled) {
        m_scrolled->hide();
        m_scrolled->deleteLater(); // a button of it may be on the stack
        m_outer->removeWidget(m_scrolled);
    }
    m_content = new QWidget(this);
    m_scrolled = new ScrolledPage(m_content, this);
    m_outer->addWidget(m_scrolled);
    auto* page = new QVBoxLayout(m_content);
    page->setContentsMargins(kPageMargin, kPageMargin, kPageMargin, kPageMargin);
    auto* block = new QWidget(m_content); // as wide as reads well, a little above the middle
    block->setMaximumWidth(1040);
    block->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    auto* centre = new QHBoxLayout;
    centre->addStretch(1);
    centre->addWidget(block, 1000);
    centre->addStretch(1);
    page->addStretch(2);
    page->addLayout(centre);
    page->addStretch(3);
    auto* column = new QVBoxLayout(block);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);

    column->addWidget(heading(tr("See inside a training step"), TextRole::Title, 24, m_content));
    auto* lead = heading(tr("Record a real step or open one that was recorded. Drop traces and profiles anywhere in "
                            "this window."),
                         TextRole::Body, 14, m_content);
    lead->setForegroundRole(QPalette::PlaceholderText);
    column->addWidget(lead);
    column->addSpacing(14);

    m_actions = new QBoxLayout(QBoxLayout::LeftToRight);
    m_actions->setSpacing(kGap);
    auto* open = new EntryButton(QStringLiteral("open"), tr("Open a trace"),
                                 tr("Fourwalls, PyTorch, Chrome, memory snapshot, Nsight (Ctrl+O)"), true, m_content);
    auto* record = new EntryButton(QStringLiteral("record"), tr("Record a training"),
                                   tr("Train a network here and record every step (Ctrl+R)"), true, m_content);
    connect(open, &QAbstractButton::clicked, this, &WelcomePage::openRequested);
    connect(record, &QAbstractButton::clicked, this, &WelcomePage::recordRequested);
    auto* demos = new EntryButton(QStringLiteral("demos"), tr("See a demo"),
                                  tr("Understand one wall in a minute (Ctrl+D)"), true, m_content);
    connect(demos, &QAbstractButton::clicked, this, &WelcomePage::demosRequested);
    for (EntryButton* each : {open, record, demos}) m_actions->addWidget(each);
    column->addLayout(m_actions);
    arrange();
    column->addSpacing(20);

    auto* columns = new QHBoxLayout;
    columns->setSpacing(kGap);
    column->addLayout(columns);
    auto* recent = new QVBoxLayout;
    auto* samples = new QVBoxLayout;
    columns->addLayout(recent, 1);
    columns->addLayout(samples, 1);
    for (QVBoxLayout* each : {recent, samples}) each->setSpacing(2);
    fillRecent(recent);
    fillSamples(samples);
}

void WelcomePage::fillRecent(QVBoxLayout* recent)
{
    recent->addWidget(heading(tr("Recent files"), TextRole::Title, 0, m_content));
    if (m_recent.isEmpty()) {
        auto* none = heading(tr("Files that you open or record are listed here."), TextRole::Body, 0, m_content);
        none->setForegroundRole(QPalette::PlaceholderText);
        recent->addWidget(none);
    }
    for (const QString& path : m_recent.mid(0, 8)) {
        const QFileInfo info(path); // only takes the path apart
        auto* entry = new EntryButton(QStringLiteral("file"), info.fileName(), info.path(), false, m_content);
        connect(entry, &QAbstractButton::clicked, this, [this, path] { emit fileRequested(path); });
        recent->addWidget(entry);
    }
    recent->addStretch(1);
}

void WelcomePage::fillSamples(QVBoxLayout* samples)
{
    samples->addWidget(heading(tr("Samples, made on this machine"), TextRole::Title, 0, m_content));
    for (const SampleEntry& sample : m_samples) {
        auto* entry = new EntryButton(QStringLiteral("sample"), sample.title, sample.description, false, m_content);
        connect(entry, &QAbstractButton::clicked, this, [this, id = sample.id] { emit sampleRequested(id); });
        samples->addWidget(entry);
    }
    samples->addStretch(1);
}

void WelcomePage::arrange()
{
    constexpr int kScrollBar = 16;
    int needed = 2 * kPageMargin + kScrollBar + (m_actions->count() - 1) * m_actions->spacing();
    for (int i = 0; i < m_actions->count(); ++i) needed += m_actions->itemAt(i)->widget()->minimumSizeHint().width();
    m_actions->setDirection(width() < needed ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void WelcomePage::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void WelcomePage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

} // namespace fourwalls::views

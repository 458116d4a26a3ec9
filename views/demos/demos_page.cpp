// SPDX-License-Identifier: GPL-3.0-or-later
// See demos_page.h. Few parts that rarely change: rebuilt whole, like the welcome page.
#include "views/demos/demos_page.h"

#include "views/chrome/icon.h"
#include "views/chrome/scrolled_page.h"
#include "views/plot/theme.h"

#include <QAbstractButton>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTextLayout>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kTextLeft = 38, kTextTop = 9, kTextRight = 12, kTextBottom = 10, kTitleGap = 4; ///< of a card [pixels]

/// A card that starts a demo: its title and up to three lines of what one will understand.
class DemoButton : public QAbstractButton {
public:
    DemoButton(const DemoEntry& entry, QWidget* parent) : QAbstractButton(parent), m_summary(entry.summary)
    {
        setText(entry.title);
        setObjectName(QStringLiteral("demo.") + entry.id);
        setAccessibleName(entry.title);
        setAccessibleDescription(entry.summary);
        setToolTip(entry.summary);
        setCursor(Qt::PointingHandCursor);
        setAttribute(Qt::WA_Hover);
        setFocusPolicy(Qt::StrongFocus);
        QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
        policy.setHeightForWidth(true);
        setSizePolicy(policy);
    }

    QSize sizeHint() const override { return {240, heightForWidth(320)}; }
    /// As wide as its longest word.
    QSize minimumSizeHint() const override
    {
        const int widest = std::max(widestPiece(text(), TextRole::Title), widestPiece(m_summary, TextRole::Small));
        return {std::max(120, kTextLeft + widest + kTextRight), 40};
    }
    bool hasHeightForWidth() const override { return true; }
    /// The title and its explanation, of at most three lines, and nothing below.
    int heightForWidth(int width) const override
    {
        const int inside = std::max(60, width - kTextLeft - kTextRight);
        const int most = 3 * QFontMetrics(fontOf(TextRole::Small)).lineSpacing();
        const auto high = [&](TextRole role, const QString& words) {
            return QFontMetrics(fontOf(role))
                .boundingRect(QRect(0, 0, inside, 10'000), Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap, words)
                .height();
        };
        return kTextTop + high(TextRole::Title, text()) + kTitleGap + std::min(most, high(TextRole::Small, m_summary)) +
               kTextBottom;
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing, true);
        const bool active = underMouse() || hasFocus();
        painter.setPen(QPen(active ? theme.accent : theme.line, 1));
        painter.setBrush(theme.card);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
        painter.drawPixmap(QPointF(12, 12),
                           iconPixmap(QStringLiteral("sample"), theme.accent, 18, devicePixelRatioF()));
        const QRect room = rect().adjusted(kTextLeft, kTextTop, -kTextRight, -kTextBottom);
        painter.setFont(fontOf(TextRole::Title));
        painter.setPen(theme.text);
        // A title that is too long for one line takes one of the explanation's; lines of Chinese are higher.
        QRect titleAt;
        painter.drawText(room, Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap, text(), &titleAt);
        const int titled = titleAt.height();
        painter.setFont(fontOf(TextRole::Small));
        painter.setPen(theme.secondaryText);
        drawLines(painter, room.adjusted(0, titled + kTitleGap, 0, 0));
    }

private:
    /// As many lines as there is room for, the last one cut with an ellipsis.
    void drawLines(QPainter& painter, const QRect& room) const
    {
        const QFontMetrics metrics(painter.font());
        const int most = std::max(1, room.height() / metrics.lineSpacing());
        QTextLayout layout(m_summary, painter.font());
        layout.beginLayout();
        int y = room.top();
        for (int i = 0; i < most; ++i) {
            QTextLine line = layout.createLine();
            if (!line.isValid()) break;
            line.setLineWidth(room.width());
            QString text = m_summary.mid(line.textStart(), line.textLength()).trimmed();
            if (i == most - 1) text = metrics.elidedText(m_summary.mid(line.textStart()), Qt::ElideRight, room.width());
            painter.drawText(QPointF(room.left(), y + metrics.ascent()), text);
            y += metrics.lineSpacing();
        }
        layout.endLayout();
    }

    QString m_summary;
};

QLabel* label(const QString& text, TextRole role, int pixels, bool quiet, QWidget* parent)
{
    auto* made = new QLabel(text, parent);
    QFont font = fontOf(role);
    if (pixels > 0) font.setPixelSize(pixels);
    made->setFont(font);
    made->setWordWrap(true);
    if (quiet) made->setForegroundRole(QPalette::PlaceholderText);
    return made;
}

} // namespace

DemosPage::DemosPage(QWidget* parent) : QWidget(parent), m_outer(new QVBoxLayout(this))
{
    m_outer->setContentsMargins(0, 0, 0, 0);
    rebuild();
}

void DemosPage::setDemos(const QList<DemoEntry>& demos)
{
    m_demos = demos;
    rebuild();
}

void DemosPage::rebuild()
{
    if (m_content) {
        m_content->hide();
        m_content->deleteLater(); // a button of it may be on the stack
        m_outer->removeWidget(m_content);
    }
    auto* page = new QWidget;
    m_content = new ScrolledPage(page, this);
    m_outer->addWidget(m_content);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(10);
    column->addWidget(label(tr("Demos: one minute each"), TextRole::Title, 22, false, page));
    column->addWidget(label(tr("Small traces of real training steps, with a question whose answer is on the screen. "
                               "Every figure in the texts is read from the trace."),
                            TextRole::Body, 0, true, page));
    column->addSpacing(6);

    const std::pair<QString, QString> walls[] = {
        {QStringLiteral("memory"), tr("Memory wall")},
        {QStringLiteral("communication"), tr("Communication wall")},
        {QStringLiteral("performance"), tr("Performance wall")},
        {QStringLiteral("tuning"), tr("Tuning wall")},
    };
    auto* all = new QHBoxLayout;
    all->setSpacing(kGap);
    m_grid = new QGridLayout;
    m_grid->setHorizontalSpacing(kGap);
    m_grid->setVerticalSpacing(kGap);
    m_walls.clear();
    m_columns = 0;
    const auto button = [this, page](const DemoEntry& entry) {
        auto* made = new DemoButton(entry, page);
        connect(made, &QAbstractButton::clicked, this, [this, id = entry.id] { emit demoChosen(id); });
        return made;
    };
    for (const DemoEntry& entry : m_demos)
        if (entry.wall == QLatin1String("all")) all->addWidget(button(entry));
    column->addLayout(all);
    column->addSpacing(4);
    for (const auto& [id, title] : walls) {
        QList<QWidget*>& of = m_walls.emplace_back();
        of << label(title, TextRole::Title, 0, false, page);
        for (const DemoEntry& entry : m_demos)
            if (entry.wall == id) of << button(entry);
    }
    arrange();
    column->addLayout(m_grid);
    column->addSpacing(4);
    auto* more = new QHBoxLayout;
    auto* file = new QPushButton(tr("Open a demo file…"), page);
    file->setToolTip(tr("A demo is a plain text file: teachers can write their own."));
    connect(file, &QPushButton::clicked, this, &DemosPage::fileRequested);
    more->addWidget(file);
    more->addStretch(1);
    column->addLayout(more);
    column->addStretch(1);
}

void DemosPage::arrange()
{
    constexpr int kSides = 2 * 24 + 16; // margins and a scroll bar
    int least = 1;
    std::size_t most = 1;
    for (const QList<QWidget*>& wall : m_walls) {
        most = std::max(most, static_cast<std::size_t>(wall.size()));
        for (const QWidget* each : wall) least = std::max(least, each->minimumSizeHint().width());
    }
    const auto fits = [&](int columns) { return columns * least + (columns - 1) * kGap + kSides <= width(); };
    const int columns = fits(4) ? 4 : fits(2) ? 2 : 1;
    if (columns == m_columns) return;
    m_columns = columns;
    for (int i = 0; i < 4; ++i) m_grid->setColumnStretch(i, i < columns ? 1 : 0);
    for (std::size_t wall = 0; wall < m_walls.size(); ++wall) {
        const int column = static_cast<int>(wall) % columns;
        int row = static_cast<int>(wall) / columns * static_cast<int>(most);
        for (QWidget* each : m_walls[wall]) {
            m_grid->removeWidget(each);
            m_grid->addWidget(each, row++, column);
        }
    }
}

void DemosPage::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void DemosPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) rebuild();
}

} // namespace fourwalls::views

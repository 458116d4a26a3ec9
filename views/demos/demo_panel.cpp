// SPDX-License-Identifier: GPL-3.0-or-later
// See demo_panel.h.
#include "views/demos/demo_panel.h"

#include "views/chrome/icon.h"
#include "views/plot/theme.h"

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

QLabel* textLabel(QWidget* parent, TextRole role, int pixels = 0)
{
    auto* label = new QLabel(parent);
    QFont font = fontOf(role);
    if (pixels > 0) font.setPixelSize(pixels);
    label->setFont(font);
    label->setTextFormat(Qt::PlainText); // the text comes from a file
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setFocusPolicy(Qt::NoFocus);
    return label;
}

} // namespace

DemoPanel::DemoPanel(QWidget* parent)
    : QWidget(parent)
    , m_title(textLabel(this, TextRole::Small))
    , m_caption(textLabel(this, TextRole::Body, 15))
    , m_touch(textLabel(this, TextRole::Body))
    , m_question(textLabel(this, TextRole::Body))
    , m_answer(new QPushButton(this))
    , m_back(new QPushButton(this))
    , m_next(new QPushButton(this))
    , m_open(new QPushButton(this))
    , m_record(new QPushButton(this))
    , m_more(new QPushButton(this))
    , m_close(new QToolButton(this))
{
    setObjectName(QStringLiteral("demo"));
    m_title->setWordWrap(false);
    // Roles, not colours of their own: those would be put back to the theme before by every new style sheet.
    m_title->setForegroundRole(QPalette::PlaceholderText);
    m_touch->setForegroundRole(QPalette::Link);
    m_next->setProperty("primary", true);
    m_close->setAutoRaise(true);
    m_answer->setObjectName(QStringLiteral("demo.answer.button"));
    m_back->setObjectName(QStringLiteral("demo.back.button"));
    m_next->setObjectName(QStringLiteral("demo.next.button"));
    m_caption->setObjectName(QStringLiteral("demo.caption"));
    m_touch->setObjectName(QStringLiteral("demo.touch"));
    m_question->setObjectName(QStringLiteral("demo.question"));

    auto* words = new QVBoxLayout;
    words->setSpacing(6);
    words->addWidget(m_title);
    words->addWidget(m_caption);
    words->addWidget(m_touch);
    auto* ask = new QHBoxLayout;
    ask->setSpacing(10);
    ask->addWidget(m_question, 1);
    ask->addWidget(m_answer, 0, Qt::AlignTop);
    words->addLayout(ask);
    auto* own = new QHBoxLayout;
    own->setSpacing(8);
    for (QPushButton* button : {m_open, m_record, m_more}) own->addWidget(button);
    own->addStretch(1);
    words->addLayout(own);
    words->addStretch(1);

    auto* turn = new QVBoxLayout;
    turn->setSpacing(8);
    turn->addWidget(m_close, 0, Qt::AlignRight);
    turn->addStretch(1);
    auto* pages = new QHBoxLayout;
    pages->setSpacing(8);
    pages->addWidget(m_back);
    pages->addWidget(m_next);
    turn->addLayout(pages);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(kGap + kCardPadding, kCardPadding - 2, kGap + kCardPadding, kGap + kCardPadding - 2);
    row->setSpacing(24);
    row->addLayout(words, 1);
    row->addLayout(turn);

    connect(m_back, &QPushButton::clicked, this, &DemoPanel::backRequested);
    connect(m_next, &QPushButton::clicked, this, &DemoPanel::nextRequested);
    connect(m_close, &QToolButton::clicked, this, &DemoPanel::closeRequested);
    connect(m_answer, &QPushButton::clicked, this, &DemoPanel::revealAnswer);
    connect(m_open, &QPushButton::clicked, this, &DemoPanel::openRequested);
    connect(m_record, &QPushButton::clicked, this, &DemoPanel::recordRequested);
    connect(m_more, &QPushButton::clicked, this, &DemoPanel::demosRequested);
    retranslate();
    restyle();
    showPage();
}

void DemoPanel::setPage(const DemoPage& page, bool keepAnswer)
{
    m_page = page;
    m_answerShown = keepAnswer && m_answerShown;
    showPage();
    emit pageShown();
}

void DemoPanel::revealAnswer()
{
    if (m_page.answer.isEmpty() || m_answerShown) return;
    m_answerShown = true;
    showPage();
}

void DemoPanel::showPage()
{
    m_title->setText(tr("%1 · %2 of %3").arg(m_page.title).arg(m_page.number).arg(m_page.count));
    m_caption->setText(m_page.busy ? tr("Reading the figures…") : m_page.caption);
    m_touch->setText(m_page.busy || m_page.touch.isEmpty() ? QString() : tr("Try: %1").arg(m_page.touch));
    m_touch->setVisible(!m_touch->text().isEmpty());
    const bool asks = !m_page.busy && !m_page.question.isEmpty();
    m_question->setVisible(asks);
    m_question->setText(m_answerShown ? m_page.question + QStringLiteral("  →  ") + m_page.answer : m_page.question);
    m_answer->setVisible(asks && !m_answerShown);
    for (QPushButton* button : {m_open, m_record, m_more}) button->setVisible(m_page.own && !m_page.busy);
    m_back->setEnabled(m_page.number > 1);
    m_next->setText(m_page.number < m_page.count ? tr("Next") : tr("Done"));
    setAccessibleName(m_title->text() + QStringLiteral(". ") + m_caption->text() + QLatin1Char(' ') + m_touch->text() +
                      QLatin1Char(' ') + m_question->text());
    update(); // how far one is, is painted beside the words
}

void DemoPanel::retranslate()
{
    m_answer->setText(tr("Show the answer"));
    m_back->setText(tr("Back"));
    m_open->setText(tr("Open a trace…"));
    m_record->setText(tr("Record a training…"));
    m_more->setText(tr("More demos"));
    m_close->setToolTip(tr("End the demo"));
    m_close->setAccessibleName(tr("End the demo"));
    m_back->setToolTip(tr("The step before (Alt+Left)"));
    m_next->setToolTip(tr("The next step (Alt+Right)"));
    m_answer->setToolTip(tr("Think first; the answer is on the screen (Alt+Down)"));
}

void DemoPanel::restyle()
{
    m_close->setIcon(QIcon(iconPixmap(QStringLiteral("close"), currentTheme().secondaryText, 16, devicePixelRatioF())));
}

void DemoPanel::showEvent(QShowEvent* event)
{
    restyle(); // the theme may have changed while it was hidden
    QWidget::showEvent(event);
}

void DemoPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Theme& theme = currentTheme();
    paintCard(painter, QRectF(rect()).adjusted(kGap, 0, -kGap, -kGap), theme);
    // How far one is, along the upper edge.
    const double share = static_cast<double>(m_page.number) / std::max(1, m_page.count);
    const QRectF line(kGap + kCardRadius, 0, width() - 2 * (kGap + kCardRadius), 2);
    painter.fillRect(line, theme.line);
    painter.fillRect(QRectF(line.left(), line.top(), line.width() * share, line.height()), theme.accent);
}

void DemoPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) {
        retranslate();
        showPage();
    }
    if (event->type() == QEvent::PaletteChange) restyle();
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// A page that says what happened, where, and what to do.
#include "views/chrome/message_page.h"

#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"

#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

namespace fourwalls::views {

MessagePage::MessagePage(QWidget* parent)
    : QWidget(parent)
    , m_headline(new QLabel(this))
    , m_what(new QLabel(this))
    , m_where(new QLabel(this))
    , m_hint(new QLabel(this))
    , m_buttons(new WrapRow)
    , m_card(new QWidget(this))
{
    auto* inside = new QVBoxLayout(m_card);
    inside->setContentsMargins(28, 24, 28, 24);
    inside->setSpacing(10);
    QFont large = fontOf(TextRole::Title);
    large.setPixelSize(18);
    m_headline->setFont(large);
    m_where->setFont(fontOf(TextRole::Mono));
    for (QLabel* label : {m_headline, m_what, m_where, m_hint}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setTextFormat(Qt::PlainText); // the text may come from a file
        inside->addWidget(label);
    }
    m_buttons->setSpacing(8);
    inside->addSpacing(6);
    inside->addLayout(m_buttons);
    m_card->setMaximumWidth(620);

    // Between two stretches, not aligned: what is aligned gets no height for the lines that its text needs.
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    row->addWidget(m_card, 1000); // as wide as it may be before the stretches get anything
    row->addStretch(1);
    auto* outer = new QVBoxLayout(this);
    outer->addStretch(2);
    outer->addLayout(row);
    outer->addStretch(3);
}

void MessagePage::showError(const QString& headline, const Error& error)
{
    m_isError = true;
    m_headline->setText(headline);
    m_what->setText(QString::fromStdString(error.what));
    m_where->setText(QString::fromStdString(error.where));
    m_hint->setText(error.hint.empty() ? QString() : tr("What to try: %1").arg(QString::fromStdString(error.hint)));
    m_where->setVisible(!error.where.empty());
    m_hint->setVisible(!error.hint.empty());
    setAccessibleName(headline + QStringLiteral(". ") + QString::fromStdString(error.message()));
    applyTheme();
}

void MessagePage::showText(const QString& headline, const QString& text)
{
    m_isError = false;
    m_headline->setText(headline);
    m_what->setText(text);
    m_where->hide();
    m_hint->hide();
    setAccessibleName(headline + QStringLiteral(". ") + text);
    applyTheme();
}

QPushButton* MessagePage::addButton(const QString& text, bool primary)
{
    auto* button = new QPushButton(text, m_card);
    button->setProperty("primary", primary);
    m_buttons->addWidget(button);
    return button;
}

void MessagePage::applyTheme()
{
    const Theme& theme = currentTheme();
    const auto ink = [](QLabel* label, const QColor& colour) {
        QPalette palette = label->palette();
        palette.setColor(QPalette::WindowText, colour);
        label->setPalette(palette);
    };
    ink(m_headline, m_isError ? theme.error : theme.text);
    ink(m_what, theme.text);
    ink(m_where, theme.secondaryText);
    ink(m_hint, theme.text);
    update();
}

void MessagePage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) applyTheme();
}

void MessagePage::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCard(painter, m_card->geometry(), currentTheme());
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// See help_dialog.h.
#include "app/gui/help_dialog.h"

#include <QFile>
#include <QHBoxLayout>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace fourwalls::gui {

namespace {

/// Views without a page of their own are explained on that of their wall.
QString pageFor(const QString& viewId)
{
    static const QMap<QString, QString> shared{{QStringLiteral("pipeline"), QStringLiteral("performance")},
                                               {QStringLiteral("steps"), QStringLiteral("tuning")},
                                               {QStringLiteral("whatif"), QStringLiteral("tuning")},
                                               {QStringLiteral("claims"), QStringLiteral("index")}};
    const QString page = shared.value(viewId, viewId);
    return QFile::exists(QStringLiteral(":/manual/%1.md").arg(page)) ? page : QStringLiteral("index");
}

} // namespace

HelpDialog::HelpDialog(QWidget* parent) : QDialog(parent), m_browser(new QTextBrowser(this))
{
    setWindowTitle(tr("Manual"));
    resize(820, 680);
    m_browser->setAccessibleName(tr("Manual"));
    m_browser->setOpenExternalLinks(false);
    m_browser->setSearchPaths({QStringLiteral(":/manual")});
    auto* first = new QPushButton(tr("Contents"), this);
    auto* back = new QPushButton(tr("Back"), this);
    auto* close = new QPushButton(tr("Close"), this);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(first);
    buttons->addWidget(back);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_browser, 1);
    column->addLayout(buttons);
    connect(first, &QPushButton::clicked, this, [this] { showPageOf(QStringLiteral("index")); });
    connect(back, &QPushButton::clicked, m_browser, &QTextBrowser::backward);
    connect(m_browser, &QTextBrowser::backwardAvailable, back, &QPushButton::setEnabled);
    connect(m_browser, &QTextBrowser::sourceChanged, this, [this](const QUrl& url) {
        m_page = url.fileName().section(QLatin1Char('.'), 0, 0);
    });
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    back->setEnabled(false);
}

void HelpDialog::showPageOf(const QString& viewId)
{
    m_page = pageFor(viewId);
    m_browser->setSource(QUrl(QStringLiteral("qrc:/manual/%1.md").arg(m_page)), QTextDocument::MarkdownResource);
}

QString HelpDialog::text() const { return m_browser->toPlainText(); }

} // namespace fourwalls::gui

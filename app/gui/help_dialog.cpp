// SPDX-License-Identifier: GPL-3.0-or-later
// See help_dialog.h.
#include "app/gui/help_dialog.h"

#include "app/gui/appearance.h"

#include <QEvent>
#include <QFile>
#include <QHBoxLayout>
#include <QImage>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace fourwalls::gui {

namespace {

/// Views without a page of their own are explained on a page that they share.
QString pageFor(const QString& viewId)
{
    static const QMap<QString, QString> shared{{QStringLiteral("steps"), QStringLiteral("compare")},
                                               {QStringLiteral("overview"), QStringLiteral("index")},
                                               {QStringLiteral("claims"), QStringLiteral("index")}};
    const QString page = shared.value(viewId, viewId);
    return QFile::exists(QStringLiteral(":/manual/%1.md").arg(page)) ? page : QStringLiteral("index");
}

/// "zh_CN/" where the page is there in the language of the window, else empty: English.
QString folderFor(const QString& page)
{
    const QString folder = currentLanguage() + QLatin1Char('/');
    return QFile::exists(QStringLiteral(":/manual/%1%2.md").arg(folder, page)) ? folder : QString();
}

/// Pictures at the width of the text; a translated page without a picture of its own shows the English one.
class ManualBrowser : public QTextBrowser {
public:
    using QTextBrowser::QTextBrowser;

protected:
    QVariant loadResource(int type, const QUrl& name) override
    {
        if (type != QTextDocument::ImageResource) return QTextBrowser::loadResource(type, name);
        constexpr int kWidth = 740;
        QString path = QLatin1Char(':') + source().resolved(name).path();
        if (!QFile::exists(path)) path = QStringLiteral(":/manual/") + name.fileName();
        QImage image(path);
        if (image.isNull()) return {};
        const qreal ratio = devicePixelRatioF();
        const int width = static_cast<int>(kWidth * ratio);
        if (image.width() > width)
            image = image.convertToFormat(QImage::Format_RGB32).scaledToWidth(width, Qt::SmoothTransformation);
        image.setDevicePixelRatio(ratio);
        return image;
    }
};

} // namespace

HelpDialog::HelpDialog(QWidget* parent)
    : QDialog(parent)
    , m_browser(new ManualBrowser(this))
    , m_first(new QPushButton(this))
    , m_back(new QPushButton(this))
    , m_close(new QPushButton(this))
{
    resize(820, 680);
    m_browser->setOpenExternalLinks(false);
    m_browser->setSearchPaths({QStringLiteral(":/manual")});
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_first);
    buttons->addWidget(m_back);
    buttons->addStretch(1);
    buttons->addWidget(m_close);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_browser, 1);
    column->addLayout(buttons);
    connect(m_first, &QPushButton::clicked, this, [this] { showPage(QStringLiteral("index")); });
    connect(m_back, &QPushButton::clicked, m_browser, &QTextBrowser::backward);
    connect(m_browser, &QTextBrowser::backwardAvailable, m_back, &QPushButton::setEnabled);
    connect(m_browser, &QTextBrowser::sourceChanged, this,
            [this](const QUrl& url) { m_page = url.fileName().section(QLatin1Char('.'), 0, 0); });
    connect(m_close, &QPushButton::clicked, this, &QDialog::close);
    m_back->setEnabled(false);
    retranslate();
}

void HelpDialog::retranslate()
{
    setWindowTitle(tr("Manual"));
    m_browser->setAccessibleName(tr("Manual"));
    m_first->setText(tr("Contents"));
    m_back->setText(tr("Back"));
    m_close->setText(tr("Close"));
}

void HelpDialog::showPageOf(const QString& viewId)
{
    showPage(pageFor(viewId));
}

void HelpDialog::showPage(const QString& page)
{
    m_page = page;
    m_browser->setSource(QUrl(QStringLiteral("qrc:/manual/%1%2.md").arg(folderFor(page), page)),
                         QTextDocument::MarkdownResource);
}

void HelpDialog::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::LanguageChange) {
        retranslate();
        if (!m_page.isEmpty()) showPage(m_page);
    }
    QDialog::changeEvent(event);
}

QString HelpDialog::text() const
{
    return m_browser->toPlainText();
}

} // namespace fourwalls::gui

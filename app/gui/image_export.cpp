// SPDX-License-Identifier: GPL-3.0-or-later
// A widget as a PNG, SVG or PDF file.
#include "app/gui/image_export.h"

#include "app/gui/appearance.h"
#include "views/base/view.h"
#include "views/plot/theme.h"
#include "views/session/gui_call.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>

namespace fourwalls::gui {

namespace {

constexpr int kDotsPerInch = 96; // one device-independent pixel is one unit of the page

using Paint = std::function<void(QPainter& painter)>;

/// ratio: of a PNG's pixels to the widget's; as many as the screen shows, since plots keep images of that many.
QByteArray picture(QSize size, double ratio, PictureFormat format, const QString& title, const Paint& paint)
{
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    switch (format) {
    case PictureFormat::Png: {
        QImage image((QSizeF(size) * ratio).toSize(), QImage::Format_RGB32);
        image.setDevicePixelRatio(ratio);
        image.fill(views::currentTheme().window);
        {
            QPainter painter(&image);
            paint(painter);
        }
        image.save(&buffer, "PNG");
        break;
    }
    case PictureFormat::Svg: {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setSize(size);
        generator.setViewBox(QRect(QPoint(), size));
        generator.setResolution(kDotsPerInch);
        generator.setTitle(title);
        generator.setDescription(QStringLiteral("Fourwalls"));
        QPainter painter(&generator);
        paint(painter);
        break;
    }
    case PictureFormat::Pdf: {
        QPdfWriter writer(&buffer);
        writer.setTitle(title);
        writer.setCreator(QStringLiteral("Fourwalls"));
        writer.setResolution(kDotsPerInch);
        writer.setPageSize(QPageSize(QSizeF(size) * 72.0 / kDotsPerInch, QPageSize::Point, {}, QPageSize::ExactMatch));
        writer.setPageMargins(QMarginsF());
        QPainter painter(&writer);
        paint(painter);
        break;
    }
    }
    return buffer.data();
}

} // namespace

std::optional<PictureFormat> pictureFormatOf(const QString& path)
{
    const QString suffix = path.section(QLatin1Char('.'), -1).toLower();
    if (suffix == QLatin1String("png")) return PictureFormat::Png;
    if (suffix == QLatin1String("svg")) return PictureFormat::Svg;
    if (suffix == QLatin1String("pdf")) return PictureFormat::Pdf;
    return std::nullopt;
}

QByteArray pictureOf(QWidget& widget, PictureFormat format)
{
    return picture(widget.size(), widget.devicePixelRatioF(), format, widget.windowTitle(), [&](QPainter& painter) {
        painter.fillRect(widget.rect(), views::currentTheme().window);
        widget.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren);
    });
}

QByteArray pictureOf(views::View& view, PictureFormat format)
{
    return picture(view.size(), view.devicePixelRatioF(), format, view.title(),
                   [&](QPainter& painter) { view.exportTo(painter, QSizeF(view.size())); });
}

void printPage(views::View& view, QPainter& painter, const QRectF& page, const QString& heading)
{
    const bool dark = views::currentTheme().dark;
    if (dark) applyTheme(false);  // the screen is painted after this and sees nothing of it
    constexpr double kLines = 36; // of the heading's height on a page
    QFont font = views::fontOf(views::TextRole::Title);
    const double line = page.height() / kLines;
    font.setPixelSize(std::max(1, static_cast<int>(line * 0.55)));
    painter.save();
    painter.translate(page.topLeft());
    painter.setFont(font);
    painter.setPen(views::currentTheme().text);
    painter.drawText(QRectF(0, 0, page.width(), line), Qt::AlignLeft | Qt::AlignVCenter, heading);
    painter.translate(0, line);
    const double scale = std::min(page.width() / view.width(), (page.height() - line) / view.height());
    view.exportTo(painter, QSizeF(view.size()) * scale);
    painter.restore();
    if (dark) applyTheme(true);
}

Status writeWhole(const QString& path, const QByteArray& bytes)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
        return Error{ErrorCode::Io, file.errorString().toStdString(), path.toStdString(),
                     QObject::tr("choose a folder that can be written to").toStdString()};
    }
    return {};
}

void writeWholeLater(const QString& path, const QByteArray& bytes, QObject* receiver,
                     std::function<void(const Status&)> done)
{
    views::runLater(
        receiver, [path, bytes] { return writeWhole(path, bytes); }, std::move(done));
}

} // namespace fourwalls::gui

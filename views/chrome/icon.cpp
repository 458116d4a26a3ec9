// SPDX-License-Identifier: GPL-3.0-or-later
// The line icons of :/icons in any colour.
#include "views/chrome/icon.h"

#include <QFile>
#include <QPainter>
#include <QSvgRenderer>

namespace fourwalls::views {

namespace {

QPixmap drawn(const QByteArray& svg, int size, double devicePixelRatio)
{
    QSvgRenderer renderer(svg);
    QPixmap pixmap(QSize(size, size) * devicePixelRatio);
    pixmap.setDevicePixelRatio(devicePixelRatio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter, QRectF(0, 0, size, size));
    return pixmap;
}

/// Empty for an unknown name.
QByteArray svgOf(const QString& name)
{
    // A compiled-in resource: no file of the disk is read.
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio)
{
    QByteArray svg = svgOf(name);
    if (svg.isEmpty()) return {};
    svg.replace("#667085", colour.name().toLatin1());
    return drawn(svg, size, devicePixelRatio);
}

QIcon programIcon()
{
    QIcon icon;
    const QByteArray svg = svgOf(QStringLiteral("fourwalls"));
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) icon.addPixmap(drawn(svg, size, 1));
    return icon;
}

} // namespace fourwalls::views

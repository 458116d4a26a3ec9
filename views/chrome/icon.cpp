// SPDX-License-Identifier: GPL-3.0-or-later
// The line icons of :/icons in any colour.
#include "views/chrome/icon.h"

#include <QFile>
#include <QPainter>
#include <QSvgRenderer>

namespace fourwalls::views {

QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio)
{
    // A compiled-in resource: no file of the disk is read.
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    QByteArray svg = file.readAll();
    svg.replace("#667085", colour.name().toLatin1());
    QSvgRenderer renderer(svg);
    QPixmap pixmap(QSize(size, size) * devicePixelRatio);
    pixmap.setDevicePixelRatio(devicePixelRatio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter, QRectF(0, 0, size, size));
    return pixmap;
}

} // namespace fourwalls::views

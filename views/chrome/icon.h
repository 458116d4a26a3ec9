// SPDX-License-Identifier: GPL-3.0-or-later
// The line icons of :/icons in any colour, so that they follow the theme. They are drawn here and not by QIcon, which
// reads SVG only where Qt's plugin for it is installed.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

namespace fourwalls::views {

/// The icon's strokes drawn in `colour`; size in device-independent pixels. Empty for an unknown name.
QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio = 1);

/// The program's own icon, in its own colours and in the sizes that desktops ask for.
QIcon programIcon();

} // namespace fourwalls::views

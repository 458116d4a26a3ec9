// SPDX-License-Identifier: GPL-3.0-or-later
// The line icons of :/icons in any colour, so that they follow the theme.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

namespace fourwalls::views {

/// The icon's strokes drawn in `colour`; size in device-independent pixels. Empty for an unknown name.
QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double devicePixelRatio = 1);

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// A widget as a PNG, SVG or PDF file. The file appears complete or not at all.
#pragma once

#include "model/base/result.h"

#include <QByteArray>
#include <QObject>
#include <QWidget>

#include <functional>
#include <optional>

namespace fourwalls::views {
class View;
}

namespace fourwalls::gui {

enum class PictureFormat { Png, Svg, Pdf };

/// By the file name's end; absent for others.
std::optional<PictureFormat> pictureFormatOf(const QString& path);

/// The widget as it is on the screen. Call on the GUI thread.
QByteArray pictureOf(QWidget& widget, PictureFormat format);
/// A view through its own exportTo, at its present size.
QByteArray pictureOf(views::View& view, PictureFormat format);

/// Writes and renames into place. Blocks: for worker threads and programs without a window.
Status writeWhole(const QString& path, const QByteArray& bytes);
/// The same on a pool thread; `done` runs on the thread of `receiver`.
void writeWholeLater(const QString& path, const QByteArray& bytes, QObject* receiver,
                     std::function<void(const Status&)> done);

} // namespace fourwalls::gui

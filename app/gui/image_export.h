// SPDX-License-Identifier: GPL-3.0-or-later
// A widget as a PNG, SVG or PDF file. The file appears complete or not at all.
#pragma once

#include "model/base/result.h"

#include <QByteArray>
#include <QObject>
#include <QRectF>
#include <QString>
#include <QWidget>

#include <functional>
#include <optional>

class QPainter;

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

/// A view on a page of paper, as large as `page` [units of the painter] allows below a line that says what it is. Paper
/// is white: a dark window is painted in the light theme and has its own again before the screen is painted.
/// Plots become lines and letters where the painter takes them. Call on the GUI thread.
void printPage(views::View& view, QPainter& painter, const QRectF& page, const QString& heading);

/// Writes and renames into place. Blocks: for worker threads and programs without a window.
Status writeWhole(const QString& path, const QByteArray& bytes);
/// The same on a pool thread; `done` runs on the thread of `receiver`.
void writeWholeLater(const QString& path, const QByteArray& bytes, QObject* receiver,
                     std::function<void(const Status&)> done);

} // namespace fourwalls::gui

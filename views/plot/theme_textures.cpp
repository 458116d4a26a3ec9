// SPDX-License-Identifier: GPL-3.0-or-later
// The brick wall that marks every limit, and the hatching of lost time; the style sheet of ordinary widgets.
#include "views/plot/theme.h"

#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>

#include <cmath>

namespace fourwalls::views {

void paintWall(QPainter& painter, const QRectF& rect, const Theme& theme, WallEdge edge)
{
    if (rect.isEmpty()) return;
    constexpr double kCourse = 6; // height of a row of bricks
    constexpr double kBrick = 24; // length of a brick
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.fillRect(rect, theme.wallFill);
    // Courses are laid from the limit outwards, so that a growing band does not make the bricks crawl.
    QVector<QLineF> joints;
    const bool fromTop = edge == WallEdge::Top;
    const double base = fromTop ? rect.top() : rect.bottom();
    const double direction = fromTop ? 1 : -1;
    const int courses = static_cast<int>(std::ceil(rect.height() / kCourse));
    for (int course = 0; course < courses; ++course) {
        const double y0 = std::round(base + direction * course * kCourse);
        const double y1 = std::round(base + direction * (course + 1) * kCourse);
        joints.append(QLineF(rect.left(), y1, rect.right(), y1));
        const double shift = course % 2 == 0 ? 0 : kBrick / 2;
        const double first = std::floor((rect.left() - shift) / kBrick) * kBrick + shift;
        for (double x = first; x < rect.right(); x += kBrick) {
            if (x >= rect.left()) joints.append(QLineF(x, y0, x, y1));
        }
    }
    painter.setPen(QPen(theme.wallJoint, 1));
    painter.drawLines(joints);
    if (edge == WallEdge::Bottom)
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 2, rect.width(), 2), theme.wallEdge);
    if (edge == WallEdge::Top) painter.fillRect(QRectF(rect.left(), rect.top(), rect.width(), 2), theme.wallEdge);
    painter.restore();
}

namespace {

constexpr double kHatchPitch = 8;

/// The lines of the hatching within a rectangle. Anchored to the coordinate system, not to the rectangle: neighbours
/// join without a seam.
void paintHatchLines(QPainter& painter, const QRectF& rect, const Theme& theme)
{
    painter.setRenderHint(QPainter::Antialiasing, true);
    QVector<QLineF> lines;
    const double first = std::floor((rect.left() + rect.top()) / kHatchPitch) * kHatchPitch;
    for (double sum = first; sum < rect.right() + rect.bottom(); sum += kHatchPitch)
        lines.append(QLineF(sum - rect.top(), rect.top(), sum - rect.bottom(), rect.bottom()));
    painter.setPen(QPen(theme.hatchLine, 1.5));
    painter.drawLines(lines);
}

/// One period of the hatching in pixels, which repeats in both directions; kept until it is asked for differently.
const QImage& hatchTile(int pixels, const Theme& theme)
{
    thread_local QImage tile;
    thread_local QRgb base = 0, line = 0;
    if (tile.width() != pixels || base != theme.hatchBase.rgba() || line != theme.hatchLine.rgba()) {
        base = theme.hatchBase.rgba();
        line = theme.hatchLine.rgba();
        tile = QImage(pixels, pixels, QImage::Format_ARGB32_Premultiplied);
        tile.fill(theme.hatchBase);
        QPainter painter(&tile);
        painter.scale(pixels / kHatchPitch, pixels / kHatchPitch);
        // Wider than the tile: the corners have the ends of the neighbouring lines.
        paintHatchLines(painter, QRectF(-kHatchPitch, -kHatchPitch, 3 * kHatchPitch, 3 * kHatchPitch), theme);
    }
    return tile;
}

/// Pixels of a period where the hatching can be laid in tiles of whole pixels: on an image, neither turned nor
/// stretched and at a whole pixel. 0 elsewhere.
int pixelsOfHatch(const QPainter& painter)
{
    const QPaintEngine* engine = painter.paintEngine();
    const QTransform& place = painter.deviceTransform();
    if (!engine || engine->type() != QPaintEngine::Raster || place.type() > QTransform::TxScale) return 0;
    const double pixels = kHatchPitch * place.m11();
    const auto isWhole = [](double value) { return value == std::round(value); };
    constexpr double kMost = 64;
    const bool fits = place.m11() == place.m22() && pixels > 0 && pixels <= kMost && isWhole(pixels) &&
                      isWhole(place.dx()) && isWhole(place.dy());
    return fits ? static_cast<int>(pixels) : 0;
}

} // namespace

void paintHatch(QPainter& painter, const QRectF& rect, const Theme& theme)
{
    if (rect.isEmpty()) return;
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    if (const int pixels = pixelsOfHatch(painter)) {
        // Lines at 45 degrees take QPainter longer than all else in a plot.
        QBrush tiles(hatchTile(pixels, theme));
        tiles.setTransform(QTransform::fromScale(kHatchPitch / pixels, kHatchPitch / pixels));
        painter.setBrushOrigin(0, 0);
        painter.fillRect(rect, tiles);
    } else {
        painter.fillRect(rect, theme.hatchBase);
        paintHatchLines(painter, rect, theme);
    }
    painter.restore();
}

void paintCard(QPainter& painter, const QRectF& rect, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(theme.card);
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
    painter.restore();
}

QString styleSheetOf(const Theme& t)
{
    // Its pictures are PNG (NAME@2x.png for finer screens): Qt reads SVG with a plugin, which Debian 13 packs by itself.
    QString sheet = QStringLiteral(R"(
QToolTip { background: @card; color: @text; border: 1px solid @line; padding: 4px 6px; }
QMenu { background: @card; color: @text; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 28px; border-radius: 4px; }
QMenu::indicator { width: 13px; height: 13px; left: 8px; }
QCheckBox { color: @text; spacing: 6px; }
QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid @secondary; border-radius: 3px; background: @card; }
QCheckBox::indicator:hover, QCheckBox::indicator:focus { border-color: @accent; }
QCheckBox::indicator:checked { border-color: @accent; background: @accent; image: url(:/icons/check.png); }
QMenu::item:selected { background: @raised; color: @text; }
QMenu::item:disabled { color: @secondary; }
QMenu::separator { height: 1px; background: @line; margin: 4px 6px; }
QPushButton { background: @raised; color: @text; border: 1px solid @line; border-radius: 6px; padding: 5px 12px; }
QPushButton:hover { border-color: @accent; }
QPushButton:focus { border: 1px solid @accent; }
QPushButton:disabled { color: @secondary; }
QPushButton[primary="true"] { background: @accent; color: @accentText; border-color: @accent; }
QPushButton[primary="true"]:disabled { background: @raised; color: @secondary; border-color: @line; }
QToolButton { background: transparent; color: @text; border: 1px solid @line; border-radius: 6px; padding: 4px 8px; }
QToolButton:hover, QToolButton:focus { border-color: @accent; }
QToolButton:checked { background: @raised; color: @accent; border-color: @accent; }
QToolButton:disabled { color: @secondary; }
QToolButton#product { background: transparent; border-color: transparent; padding: 6px 20px 6px 8px; }
QToolButton#product:hover { border-color: @line; }
QToolButton#product:focus { border-color: @accent; }
QToolButton#product::menu-indicator { image: url(:/icons/menu.png); width: 16px; height: 16px;
  subcontrol-position: right center; subcontrol-origin: padding; right: 3px; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit {
  background: @card; color: @text; border: 1px solid @line; border-radius: 6px; padding: 4px 8px;
  selection-background-color: @accent; selection-color: @accentText; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus { border-color: @accent; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: @secondary; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url(:/icons/menu.png); width: 16px; height: 16px; }
QComboBox QAbstractItemView { background: @card; color: @text; border: 1px solid @line;
  selection-background-color: @raised; selection-color: @text; }
QTableView, QTreeView, QListView { background: @card; color: @text; border: none; gridline-color: @line;
  alternate-background-color: @window; selection-background-color: @raised; selection-color: @text; }
QHeaderView::section { background: @card; color: @secondary; border: none; border-bottom: 1px solid @line;
  padding: 4px 8px; }
QHeaderView::up-arrow { image: url(:/icons/sort_up.png); width: 10px; height: 10px; subcontrol-position: top center; }
QHeaderView::down-arrow { image: url(:/icons/sort_down.png); width: 10px; height: 10px; subcontrol-position: top center; }
QTableCornerButton::section { background: @card; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @line; border-radius: 4px; min-height: 24px; min-width: 24px; margin: 1px; }
QScrollBar::handle:hover { background: @secondary; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: transparent; }
QMainWindow::separator { background: @window; width: 5px; height: 5px; }
QToolButton#lock { border: none; padding: 0; } QToolButton#icon { padding: 0; }
QToolButton#chip { padding: 3px 6px; }
QPushButton#menu { padding-right: 24px; }
QToolButton[opensMenu="true"] { padding: 4px 24px 4px 8px; min-width: 54px; }
QPushButton#menu::menu-indicator, QToolButton[opensMenu="true"]::menu-indicator { width: 16px; height: 16px;
  image: url(:/icons/menu.png); subcontrol-position: right center; subcontrol-origin: padding; right: 4px; }
QToolButton#lock:hover, QToolButton#lock:focus { border: 1px solid @line; }
QProgressBar { background: @raised; border: none; border-radius: 4px; height: 8px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 4px; }
QListView#notes::item { padding: 5px 8px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QDialog, QMessageBox { background: @window; }
QDialog#palette { background: @card; border: 1px solid @line; }
)");
    const std::pair<const char*, QColor> names[] = {{"@accentText", t.accentText},
                                                    {"@accent", t.accent},
                                                    {"@card", t.card},
                                                    {"@text", t.text},
                                                    {"@line", t.line},
                                                    {"@raised", t.raised},
                                                    {"@window", t.window},
                                                    {"@secondary", t.secondaryText}};
    for (const auto& [name, colour] : names) sheet.replace(QLatin1String(name), colour.name());
    return sheet;
}

} // namespace fourwalls::views

// SPDX-License-Identifier: GPL-3.0-or-later
// The two palettes. Phases follow the colour-blind-safe order blue, teal, green, grey-violet, amber, orange, brown with
// lightness that differs between neighbours; memory uses tints of other hues; status colours are apart from both.
#include "views/plot/theme.h"

#include <QFontDatabase>
#include <QFontMetrics>
#include <QPalette>
#include <QTextBoundaryFinder>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

QColor at(const std::array<QColor, kPhaseCount>& colours, Phase phase)
{
    return colours[static_cast<std::size_t>(phase)];
}

void setPhases(Theme& t)
{
    auto& p = t.phases;
    p[static_cast<std::size_t>(Phase::None)] = t.otherCompute;
    p[static_cast<std::size_t>(Phase::GradientSync)] = t.communication;
    p[static_cast<std::size_t>(Phase::DataLoading)] = t.copy;
    p[static_cast<std::size_t>(Phase::CheckpointSave)] = t.copy;
    p[static_cast<std::size_t>(Phase::CheckpointLoad)] = t.copy;
    p[static_cast<std::size_t>(Phase::Evaluation)] = t.otherCompute;
    p[static_cast<std::size_t>(Phase::Setup)] = t.structure;
}

Theme lightTheme()
{
    Theme t;
    t.dark = false;
    t.window = QColor(0xf5f6f9);
    t.chrome = QColor(0xffffff);
    t.card = QColor(0xffffff);
    t.raised = QColor(0xeef1f8);
    t.line = QColor(0xe1e4ea);
    t.text = QColor(0x1b2130);
    t.secondaryText = QColor(0x5f6980);
    t.accent = QColor(0x2b6adf);
    t.accentText = QColor(0xffffff);
    t.selectionFill = QColor(0x2b, 0x6a, 0xdf, 38);
    t.hover = QColor(0x1b, 0x21, 0x30, 14);
    t.wallFill = QColor(0xf3dcd6);
    t.wallJoint = QColor(0xdfa599);
    t.wallEdge = QColor(0xb23a28);
    t.structure = QColor(0x667085);
    t.otherCompute = QColor(0x8fa3bf);
    t.hatchBase = QColor(0xeef0f4);
    t.hatchLine = QColor(0xd3d8e2);
    t.prediction = QColor(0x6f42b5);
    t.ok = QColor(0x14804f);
    t.warning = QColor(0x96650a);
    t.error = QColor(0xb3261e);
    t.information = QColor(0x475067);
    t.communication = QColor(0xdd6327);
    t.copy = QColor(0x8d6e63);
    t.phases[static_cast<std::size_t>(Phase::Forward)] = QColor(0x4a78c8);
    t.phases[static_cast<std::size_t>(Phase::BackwardInput)] = QColor(0x2a9d8f);
    t.phases[static_cast<std::size_t>(Phase::BackwardWeight)] = QColor(0x7cb342);
    t.phases[static_cast<std::size_t>(Phase::Recompute)] = QColor(0xa594b8);
    t.phases[static_cast<std::size_t>(Phase::Optimizer)] = QColor(0xdfa01e);
    t.memory = {QColor(0x486596), QColor(0x8fb9e8), QColor(0xc0ab5c), QColor(0x6cc0a1),
                QColor(0xa3a9b8), QColor(0xe9a183), QColor(0xcf9fb4), QColor(0xcdd2da)};
    setPhases(t);
    return t;
}

Theme darkTheme()
{
    Theme t;
    t.dark = true;
    t.window = QColor(0x15181d);
    t.chrome = QColor(0x1c2027);
    t.card = QColor(0x1c2027);
    t.raised = QColor(0x252b36);
    t.line = QColor(0x2f3641);
    t.text = QColor(0xe8ebf1);
    t.secondaryText = QColor(0x9aa4b6);
    t.accent = QColor(0x6c9ff8);
    t.accentText = QColor(0x0f1420);
    t.selectionFill = QColor(0x6c, 0x9f, 0xf8, 56);
    t.hover = QColor(0xff, 0xff, 0xff, 18);
    t.wallFill = QColor(0x3a231f);
    t.wallJoint = QColor(0x6b3a30);
    t.wallEdge = QColor(0xe57a62);
    t.structure = QColor(0x667085);
    t.otherCompute = QColor(0x7188a8);
    t.hatchBase = QColor(0x20252d);
    t.hatchLine = QColor(0x3a4250);
    t.prediction = QColor(0xa27de8);
    t.ok = QColor(0x49b982);
    t.warning = QColor(0xd9a441);
    t.error = QColor(0xf08578);
    t.information = QColor(0xaab4c6);
    t.communication = QColor(0xdd6327);
    t.copy = QColor(0x94766b);
    t.phases[static_cast<std::size_t>(Phase::Forward)] = QColor(0x4a78c8);
    t.phases[static_cast<std::size_t>(Phase::BackwardInput)] = QColor(0x2a9d8f);
    t.phases[static_cast<std::size_t>(Phase::BackwardWeight)] = QColor(0x7cb342);
    t.phases[static_cast<std::size_t>(Phase::Recompute)] = QColor(0x9a88b0);
    t.phases[static_cast<std::size_t>(Phase::Optimizer)] = QColor(0xdfa01e);
    t.memory = {QColor(0x3f5a8c), QColor(0x74a2d6), QColor(0xab9648), QColor(0x53a886),
                QColor(0x8b93a5), QColor(0xdc8f6e), QColor(0xb98aa0), QColor(0x5c6575)};
    setPhases(t);
    return t;
}

bool g_dark = false;

} // namespace

const Theme& theme(bool dark)
{
    static const Theme light = lightTheme();
    static const Theme night = darkTheme();
    return dark ? night : light;
}

const Theme& currentTheme()
{
    return theme(g_dark);
}
void setCurrentTheme(bool dark)
{
    g_dark = dark;
}

QColor colourOf(const Theme& theme, Phase phase)
{
    return at(theme.phases, phase);
}

QColor colourOf(const Theme& theme, MemoryCategory category)
{
    return theme.memory[static_cast<std::size_t>(category)];
}

bool isHatched(SliceKind kind, Activity activity)
{
    return kind == SliceKind::Wait || activity == Activity::CollectiveWait || activity == Activity::PipelineWait ||
           activity == Activity::Synchronisation;
}

QColor colourOf(const Theme& theme, SliceKind kind, Phase phase, Activity activity)
{
    if (isHatched(kind, activity)) return theme.hatchBase;
    if (kind == SliceKind::Collective || kind == SliceKind::Hop || activity == Activity::Transfer ||
        activity == Activity::PipelineTransfer)
        return theme.communication;
    if (kind == SliceKind::Copy || activity == Activity::Copy || kind == SliceKind::Checkpoint ||
        kind == SliceKind::DataLoading || activity == Activity::DataLoading)
        return theme.copy;
    if (kind == SliceKind::Step || kind == SliceKind::Marker || kind == SliceKind::HostCall) return theme.structure;
    if (phase == Phase::None && kind == SliceKind::Layer) return theme.structure;
    return at(theme.phases, phase);
}

QColor textOn(const QColor& fill)
{
    // Relative luminance (WCAG 2.1) decides; 0.32 is where dark and light text have equal contrast, leaning to white.
    const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const double luminance =
        0.2126 * linear(fill.redF()) + 0.7152 * linear(fill.greenF()) + 0.0722 * linear(fill.blueF());
    return luminance > 0.32 ? QColor(0x10151f) : QColor(0xffffff);
}

int widestPiece(const QString& text, TextRole role)
{
    const QFontMetrics metrics(fontOf(role));
    QTextBoundaryFinder breaks(QTextBoundaryFinder::Line, text);
    int widest = 0;
    qsizetype from = 0;
    for (qsizetype to = breaks.toNextBoundary(); to > from; from = to, to = breaks.toNextBoundary())
        widest = std::max(widest, metrics.horizontalAdvance(text.mid(from, to - from).trimmed()));
    return widest;
}

QFont fontOf(TextRole role)
{
    // Both families have digits of one width, so that columns and changing figures stand still.
    static const QStringList families{QStringLiteral("DejaVu Sans"), QStringLiteral("Noto Sans CJK SC"),
                                      QStringLiteral("Noto Sans")};
    QFont font(families);
    switch (role) {
    case TextRole::Small: font.setPixelSize(11); break;
    case TextRole::Body: font.setPixelSize(13); break;
    case TextRole::Title:
        font.setPixelSize(13);
        font.setWeight(QFont::Bold);
        break;
    case TextRole::Figure:
        font.setPixelSize(25);
        font.setWeight(QFont::Bold);
        break;
    case TextRole::Mono:
        font.setFamilies({QStringLiteral("DejaVu Sans Mono"), QStringLiteral("Noto Sans Mono CJK SC")});
        font.setPixelSize(12);
        break;
    }
    return font;
}

QPalette paletteOf(const Theme& t)
{
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.card);
    p.setColor(QPalette::AlternateBase, t.window);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.secondaryText);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.error);
    p.setColor(QPalette::ToolTipBase, t.card);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.accentText);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.accent);
    p.setColor(QPalette::Light, t.card);
    p.setColor(QPalette::Midlight, t.raised);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.secondaryText);
    p.setColor(QPalette::Shadow, t.line);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, t.structure);
    return p;
}

} // namespace fourwalls::views

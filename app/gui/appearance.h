// SPDX-License-Identifier: GPL-3.0-or-later
// Puts a theme and a language on the whole application.
#pragma once

#include <QString>

namespace fourwalls::gui {

/// Palette, style sheet and fonts. Widgets get a PaletteChange.
void applyTheme(bool dark);

/// language: "en", "zh_CN", or empty for the system's (English where there is no translation). Widgets get a
/// LanguageChange. Returns the language that is now in use.
QString applyLanguage(const QString& language);
/// The one that applyLanguage put into use last; "en" before.
QString currentLanguage();

} // namespace fourwalls::gui

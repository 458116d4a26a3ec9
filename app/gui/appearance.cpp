// SPDX-License-Identifier: GPL-3.0-or-later
// Puts a theme and a language on the whole application.
#include "app/gui/appearance.h"

#include "views/plot/theme.h"

#include <QApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QPalette>
#include <QStyleFactory>
#include <QTranslator>

#include <cstring>

namespace fourwalls::gui {

namespace {

/// Finds texts whose context was collected without its namespaces: lupdate does not see through
/// `namespace a::b {`, while tr() asks with the full name of the class.
class NamespaceTranslator : public QTranslator {
public:
    using QTranslator::QTranslator;

    QString translate(const char* context, const char* source, const char* comment, int n) const override
    {
        const QString exact = QTranslator::translate(context, source, comment, n);
        if (!exact.isNull() || !context) return exact;
        const char* last = nullptr;
        for (const char* at = std::strstr(context, "::"); at; at = std::strstr(at + 2, "::")) last = at + 2;
        return last ? QTranslator::translate(last, source, comment, n) : QString();
    }
};

} // namespace

void applyTheme(bool dark)
{
    // Fusion draws the same everywhere and takes the palette as it is.
    static const bool styled = [] {
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
        QApplication::setFont(views::fontOf(views::TextRole::Body));
        return true;
    }();
    Q_UNUSED(styled);
    views::setCurrentTheme(dark);
    QApplication::setPalette(views::paletteOf(views::currentTheme()));
    qApp->setStyleSheet(views::styleSheetOf(views::currentTheme()));
}

namespace {

QString& languageInUse()
{
    static QString language = QStringLiteral("en");
    return language;
}

} // namespace

QString currentLanguage()
{
    return languageInUse();
}

QString applyLanguage(const QString& language)
{
    static QTranslator* ours = nullptr;
    static QTranslator* qts = nullptr;
    QString wanted = language;
    if (wanted.isEmpty())
        wanted = QLocale::system().language() == QLocale::Chinese ? QStringLiteral("zh_CN") : QStringLiteral("en");
    languageInUse() = wanted; // before the widgets hear of it
    for (QTranslator** each : {&ours, &qts}) {
        if (!*each) continue;
        QCoreApplication::removeTranslator(*each);
        delete *each;
        *each = nullptr;
    }
    const auto install = [](QTranslator*& slot, const QString& file, const QString& folder) {
        auto* translator = new NamespaceTranslator(qApp);
        if (translator->load(file, folder)) {
            slot = translator;
            QCoreApplication::installTranslator(translator);
        } else {
            delete translator;
        }
    };
    // Qt's own words first: the last one installed is asked first.
    if (wanted != QLatin1String("en"))
        install(qts, QStringLiteral("qtbase_") + wanted, QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    // English has a file, too: for plurals.
    install(ours, QStringLiteral("fourwalls_") + wanted, QStringLiteral(":/translations"));
    return wanted;
}

} // namespace fourwalls::gui

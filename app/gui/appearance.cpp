// SPDX-License-Identifier: GPL-3.0-or-later
// Puts a theme and a language on the whole application.
#include "app/gui/appearance.h"

#include "views/plot/theme.h"

#include <QApplication>
#include <QEvent>
#include <QLibraryInfo>
#include <QLocale>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>
#include <QTranslator>
#include <QWidget>

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

namespace {

/// Brings widgets to the style sheet of the theme. Qt would do it to every widget that there is and let each of them
/// work out its size again, 1 ms a widget; but no size follows the theme, and what is hidden can wait until it is shown.
class Restyler : public QObject {
public:
    static Restyler& instance()
    {
        static auto* const restyler = new Restyler; // of the thread of the window, which outlives everything static
        return *restyler;
    }

    /// Of all widgets, those that can be seen at once.
    void useSheet(const QString& sheet)
    {
        // Without remembered rules there is no widget that the application would restyle.
        qApp->style()->unpolish(qApp);
        qApp->setStyleSheet(sheet);
        for (QWidget* window : QApplication::topLevelWidgets()) restyle(window);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Show && watched->isWidgetType()) {
            watched->removeEventFilter(this);
            restyle(static_cast<QWidget*>(watched));
        }
        return QObject::eventFilter(watched, event);
    }

private:
    void restyle(QWidget* widget)
    {
        if (widget->isHidden()) {
            widget->installEventFilter(this);
            return;
        }
        widget->style()->polish(widget); // colours that the sheet gives it
        widget->update();
        for (QObject* child : widget->children())
            if (child->isWidgetType()) restyle(static_cast<QWidget*>(child));
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
    Restyler::instance().useSheet(views::styleSheetOf(views::currentTheme()));
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

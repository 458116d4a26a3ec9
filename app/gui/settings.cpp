// SPDX-License-Identifier: GPL-3.0-or-later
// What the application remembers between runs.
#include "app/gui/settings.h"

#include <QSettings>

namespace fourwalls::gui {

namespace {
constexpr int kRecentFiles = 12, kMachineFiles = 8;

QVariant read(const std::unique_ptr<QSettings>& store, const char* key, const QVariant& otherwise = {})
{
    return store ? store->value(QLatin1String(key), otherwise) : otherwise;
}

void write(const std::unique_ptr<QSettings>& store, const char* key, const QVariant& value)
{
    if (store) store->setValue(QLatin1String(key), value);
}
} // namespace

Settings::Settings(Kind kind)
{
    if (kind == Kind::Persistent) {
        m_store = std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("fourwalls"),
                                              QStringLiteral("fourwalls"));
    }
}

Settings::~Settings() = default;

QStringList Settings::recentFiles() const
{
    return read(m_store, "files/recent").toStringList();
}

void Settings::addRecentFile(const QString& path)
{
    QStringList files = recentFiles();
    files.removeAll(path);
    files.prepend(path);
    write(m_store, "files/recent", files.mid(0, kRecentFiles));
}

void Settings::clearRecentFiles()
{
    write(m_store, "files/recent", QStringList());
}

bool Settings::importsBesideSource() const
{
    return read(m_store, "files/import_beside_source", false).toBool();
}
void Settings::setImportsBesideSource(bool beside)
{
    write(m_store, "files/import_beside_source", beside);
}

QStringList Settings::sessionFiles() const
{
    return read(m_store, "session/files").toStringList();
}
QString Settings::sessionView() const
{
    return read(m_store, "session/view").toString();
}

void Settings::setSession(const QStringList& files, const QString& view)
{
    write(m_store, "session/files", files);
    write(m_store, "session/view", view);
}

bool Settings::restoresSession() const
{
    return read(m_store, "session/restore", true).toBool();
}
void Settings::setRestoresSession(bool restores)
{
    write(m_store, "session/restore", restores);
}

QByteArray Settings::geometry() const
{
    return read(m_store, "window/geometry").toByteArray();
}
void Settings::setGeometry(const QByteArray& geometry)
{
    write(m_store, "window/geometry", geometry);
}

QByteArray Settings::docks() const
{
    return read(m_store, "window/docks").toByteArray();
}
void Settings::setDocks(const QByteArray& docks)
{
    write(m_store, "window/docks", docks);
}

bool Settings::dark() const
{
    return read(m_store, "look/dark", false).toBool();
}
void Settings::setDark(bool dark)
{
    write(m_store, "look/dark", dark);
}
QString Settings::language() const
{
    return read(m_store, "look/language").toString();
}
void Settings::setLanguage(const QString& language)
{
    write(m_store, "look/language", language);
}
bool Settings::binaryUnits() const
{
    return read(m_store, "look/binary_units", false).toBool();
}
void Settings::setBinaryUnits(bool binary)
{
    write(m_store, "look/binary_units", binary);
}

std::optional<QKeySequence> Settings::shortcut(const QString& action) const
{
    const QVariant value = read(m_store, ("shortcuts/" + action.toUtf8()).constData());
    if (!value.isValid()) return std::nullopt;
    return QKeySequence(value.toString(), QKeySequence::PortableText);
}

void Settings::setShortcut(const QString& action, const std::optional<QKeySequence>& keys)
{
    if (!m_store) return;
    const QString key = QStringLiteral("shortcuts/") + action;
    if (keys) {
        m_store->setValue(key, keys->toString(QKeySequence::PortableText));
    } else {
        m_store->remove(key);
    }
}

QStringList Settings::machineFiles() const
{
    return read(m_store, "files/machines").toStringList();
}

bool Settings::isForgetful() const
{
    return m_store == nullptr;
}

void Settings::addMachineFile(const QString& path)
{
    QStringList files = machineFiles();
    files.removeAll(path);
    files.prepend(path);
    write(m_store, "files/machines", files.mid(0, kMachineFiles));
}

QStringList Settings::savedQueries() const
{
    return read(m_store, "tables/queries").toStringList();
}

void Settings::setSavedQueries(const QStringList& queries)
{
    write(m_store, "tables/queries", queries);
}

QString Settings::lastFolder() const
{
    return read(m_store, "files/folder").toString();
}
void Settings::setLastFolder(const QString& folder)
{
    write(m_store, "files/folder", folder);
}

} // namespace fourwalls::gui

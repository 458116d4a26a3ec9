// SPDX-License-Identifier: GPL-3.0-or-later
// The rail of views on the left: the whole map of the window.
#pragma once

#include <QAbstractButton>
#include <QMap>
#include <QWidget>

class QVBoxLayout;

namespace fourwalls::views {

class Rail : public QWidget {
    Q_OBJECT
public:
    explicit Rail(QWidget* parent = nullptr);

    /// Adds an entry below the others.
    void addEntry(const QString& id, const QString& icon, const QString& title);
    void setTitle(const QString& id, const QString& title);
    void setEntryEnabled(const QString& id, bool enabled, const QString& reason = {});
    void setCurrent(const QString& id);
    QString current() const { return m_current; }
    QStringList ids() const { return m_order; }

signals:
    void chosen(const QString& id);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QVBoxLayout* m_layout;
    QMap<QString, QAbstractButton*> m_buttons;
    QStringList m_order;
    QString m_current;
};

} // namespace fourwalls::views

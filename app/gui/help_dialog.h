// SPDX-License-Identifier: GPL-3.0-or-later
// The manual, offline: the pages of docs/manual as they were when the program was built, in the language of the window.
#pragma once

#include <QDialog>

class QPushButton;
class QTextBrowser;

namespace fourwalls::gui {

class HelpDialog : public QDialog {
    Q_OBJECT
public:
    explicit HelpDialog(QWidget* parent = nullptr);

    /// The page that explains a view ("memory", …), else the first page.
    void showPageOf(const QString& viewId);
    /// Its name, without suffix.
    QString page() const { return m_page; }
    QString text() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    void retranslate();
    void showPage(const QString& page);

    QTextBrowser* m_browser;
    QPushButton *m_first, *m_back, *m_close;
    QString m_page;
};

} // namespace fourwalls::gui

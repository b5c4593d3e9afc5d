-- Layout of an app's emails, in Liquid and HTML; null = the default.
ALTER TABLE app_mail_settings ADD COLUMN layout TEXT;

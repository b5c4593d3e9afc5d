-- What readers of an app's emails are told, by language; JSON, null = the default texts.
ALTER TABLE app_mail_settings ADD COLUMN texts TEXT;

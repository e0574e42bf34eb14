"Package metadata: all of it is in `settings.ini`."
from configparser import ConfigParser
from pathlib import Path
from setuptools import find_packages, setup

cfg = ConfigParser(delimiters=['='])
cfg.read('settings.ini', encoding='utf-8')
c = cfg['DEFAULT']
lib = c['lib_path']

setup(
    name=c['lib_name'], version=c['version'], description=c['description'], url=c['git_url'],
    author=c['author'], author_email=c['author_email'], license='Apache-2.0',
    long_description=Path('README.md').read_text(encoding='utf-8'), long_description_content_type='text/markdown',
    packages=find_packages(include=[lib, f'{lib}.*']), include_package_data=True, python_requires='>='+c['min_python'],
    install_requires=c['requirements'].split(), extras_require={'dev': c['dev_requirements'].split()},
    entry_points={'console_scripts': c['console_scripts'].split(), 'nbdev': [f'{lib}={lib}._modidx:d']})
